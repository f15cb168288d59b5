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

package adapter

import "fmt"

// UnknownDevice says what an engine that refuses a CDI device lacks. The engine is named
// with the version that has CDI.
func UnknownDevice(cause error, engine string) error {
	return fmt.Errorf("%w; CDI devices require %s, and a specification in /etc/cdi or /var/run/cdi of the engine's host", cause, engine)
}

// AbsentSource says what to do about a bind mount that an engine refuses since its host does not
// have the source.
func AbsentSource(cause error) error {
	return fmt.Errorf("%w; create it on the engine's host, or use an existing path", cause)
}
