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

package memory

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

const (
	// anyOperation stands for all calls of the engine, and after a prefix for all of these.
	anyOperation = "*"
	// bootstrapOperation is that of kubeadm in a node: no call.
	bootstrapOperation = "Bootstrap"
	// apiServerPrefix and etcdPrefix begin operations of API servers and etcd of clusters.
	apiServerPrefix = "APIServer/"
	etcdPrefix      = "Etcd/"
	// What these operations are that last as long as their client wants.
	watchOperation       = apiServerPrefix + "watch"
	portForwardOperation = apiServerPrefix + "portforward"
)

// covers reports whether the operation of a rule is, or includes, an operation.
func covers(rule, operation string) bool {
	prefix, all := strings.CutSuffix(rule, anyOperation)
	switch {
	case rule == operation:
		return true
	case !all:
		return false
	case prefix != "":
		return strings.HasPrefix(operation, prefix)
	default:
		return operation != bootstrapOperation && operation != "Events" && !strings.Contains(operation, "/")
	}
}

// validateOperation returns what is wrong with the operation of a rule, or nothing.
func validateOperation(operation string, fault Fault) string {
	if operation == "" {
		return "is missing, such as StartContainer, Bootstrap, APIServer/list or *"
	}
	if known := operations(); !slices.Contains(known, operation) {
		return fmt.Sprintf("is %q, and must be one of %s", operation, strings.Join(known, ", "))
	}
	switch {
	case operation == bootstrapOperation && fault != Error && fault != Delay:
		return fmt.Sprintf("%s can have Error and Delay, and not %s", operation, fault)
	case lasts(operation) && fault == Lost:
		return operation + " has no answer that can be Lost"
	}
	return ""
}

// operations that rules can have.
func operations() []string {
	known := []string{anyOperation}
	methods := reflect.TypeFor[engine.Engine]()
	for i := range methods.NumMethod() {
		if name := methods.Method(i).Name; name != "Close" {
			known = append(known, name)
		}
	}
	known = append(known, bootstrapOperation, apiServerPrefix+anyOperation)
	for _, verb := range []string{"get", "list", "create", "update", "patch", "delete"} {
		known = append(known, apiServerPrefix+verb)
	}
	known = append(known, watchOperation, portForwardOperation, etcdPrefix+anyOperation)
	for _, method := range []string{"Alarm", "MemberList", "MemberRemove", "MoveLeader", "Status"} {
		known = append(known, etcdPrefix+method)
	}
	return known
}

// lasts reports whether an operation takes as long as its client wants.
func lasts(operation string) bool {
	return operation == watchOperation || operation == portForwardOperation
}
