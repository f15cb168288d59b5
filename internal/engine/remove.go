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

package engine

import "context"

// Remove removes the observed container by its ID: not one that was created with its name
// since. It succeeds if the container is absent.
func Remove(ctx context.Context, containers ContainerWriter, observed Container) error {
	if err := containers.RemoveContainer(ctx, observed.ID); err != nil {
		return Failed("remove", observed.Name, Cause(err))
	}
	return nil
}
