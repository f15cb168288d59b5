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

package storage

import (
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes/scheme"
)

// SealScheme keeps the library of the provisioner from writing to client-go's scheme. A program
// that calls Run calls it first, before it starts a goroutine.
//
// NewProvisionController adds the types of core/v1 to that scheme, which has them: each time that
// the storage of a cluster starts, it writes to maps that all clients of the process read without
// a lock, and Go ends a process that reads a map while it is written. The library has no option
// for another scheme.
func SealScheme() {
	add := corev1.AddToScheme
	corev1.AddToScheme = func(s *runtime.Scheme) error {
		if s == scheme.Scheme {
			return nil
		}
		return add(s)
	}
}
