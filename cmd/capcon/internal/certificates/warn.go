/*
Copyright 2026 The cluster-api-provider-container Authors.

Licensed under the Apache License, Version 2.0 (the "License");
you may not use this file except in compliance with the License.
You may obtain a copy of the License at

    http://www.apache.org/licenses/LICENSE-2.0

Unless required by applicable law or agreed to in writing, software
distributed under the License is distributed on an "AS IS" BASIS,
WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
See the License for the specific language governing permissions and
limitations under the License.
*/

package certificates

import (
	"fmt"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
)

// WarningPeriod is how long before a certificate ends users are warned.
const WarningPeriod = 30 * 24 * time.Hour

// The reasons of warnings.
const (
	ReasonExpiring = "CertificatesExpiring"
	ReasonExpired  = "CertificatesExpired"
)

// Expiry is when something ends.
type Expiry struct {
	// Of names what ends, for users.
	Of string
	At time.Time
}

// Earliest of them; false where there is none.
func Earliest(all []Expiry) (first Expiry, found bool) {
	for _, each := range all {
		if !found || each.At.Before(first.At) {
			first, found = each, true
		}
	}
	return first, found
}

// AllLater reports whether there are some, and none is a reason to warn.
func AllLater(all []Expiry, now time.Time) bool {
	first, found := Earliest(all)
	return found && first.At.Sub(now) >= WarningPeriod
}

// Warn of the end of a cluster's certificates; false where the first of them ends later than
// WarningPeriod from now.
func Warn(cluster string, first Expiry, now time.Time, remedy string) (management.Trouble, bool) {
	date := first.At.UTC().Format(time.DateOnly)
	trouble := management.Trouble{Object: "cluster " + cluster, Remedy: remedy}
	switch remaining := first.At.Sub(now); {
	case remaining >= WarningPeriod:
		return management.Trouble{}, false
	case remaining > 0:
		trouble.Reason = ReasonExpiring
		trouble.Message = fmt.Sprintf("%s ends on %s; then neither the cluster's API server nor its clients work", first.Of, date)
	default:
		trouble.Reason = ReasonExpired
		trouble.Message = fmt.Sprintf("%s ended on %s: clients cannot connect, and the control plane stops working", first.Of, date)
	}
	return trouble, true
}
