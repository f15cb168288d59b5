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

package reconcile

import (
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	kerrors "k8s.io/apimachinery/pkg/util/errors"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// ErrorText is the text of an error for a condition. Of a host port in use it is the same
// for each attempt, and names the remedy, and the ContainerEngine that is on that host; none = the manager's own engine.
func ErrorText(err error, engineName string) string {
	var conflict *engine.ConflictError
	if !errors.As(err, &conflict) || conflict.Resource != engine.ResourceHostPort {
		return err.Error()
	}
	at, host := "", "the engine's host"
	if engineName != "" {
		at = fmt.Sprintf(" on ContainerEngine %q", engineName)
		host = fmt.Sprintf("the host of ContainerEngine %q", engineName)
	}
	if conflict.Holder != "" {
		return conflict.Summary() + at + "; stop or remove that container, or use another port"
	}
	return conflict.Summary() + " by a process of " + host + "; stop it, or use another port"
}

// IgnoreGone returns nil where a patch failed only because its object is
// gone, as it is after its finalizer was removed, and the error otherwise. It
// takes what patch.Helper returns: an aggregate of one error per request,
// which errors.As does not look into.
func IgnoreGone(err error) error {
	if isGone(err) {
		return nil
	}
	return err
}

func isGone(err error) bool {
	var requests kerrors.Aggregate
	if errors.As(err, &requests) {
		return !slices.ContainsFunc(requests.Errors(), func(err error) bool { return !isGone(err) })
	}
	return apierrors.IsNotFound(err)
}
