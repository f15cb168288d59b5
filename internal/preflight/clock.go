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

package preflight

import (
	"fmt"
	"time"
)

const (
	// clockWarning is more than synchronized clocks differ, with
	// what the engine's answer may be rounded to.
	clockWarning = 5 * time.Second
	// clockError: certificates are valid from five minutes before they are
	// made, by kubeadm and by Cluster API. A node further behind than that
	// refuses those of its own control plane.
	clockError = 5 * time.Minute
)

// checkClock compares the engine's clock with ours.
func checkClock(facts Facts) []Item {
	if facts.Engine.Time.IsZero() || facts.Asked.IsZero() || facts.Answered.IsZero() {
		return nil
	}
	skew, word := time.Duration(0), ""
	switch {
	case facts.Engine.Time.Before(facts.Asked):
		skew, word = facts.Asked.Sub(facts.Engine.Time), "behind"
	case facts.Engine.Time.After(facts.Answered):
		skew, word = facts.Engine.Time.Sub(facts.Answered), "ahead of"
	}
	if skew < clockWarning {
		return nil
	}
	item := warning("Clock",
		fmt.Sprintf("the engine's clock is %s %s the local clock", skew.Round(time.Second), word),
		"synchronize both clocks (timedatectl set-ntp true), or restart the engine's virtual machine")
	if skew >= clockError {
		item.Severity = SeverityError
		item.Message += "; certificates would be expired or not yet valid"
	}
	return []Item{item}
}
