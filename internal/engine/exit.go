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

import "fmt"

// Exit is how the first process of a container ended.
type Exit struct {
	Code int
	// OOMKilled says that the kernel killed a process because the memory was used up.
	OOMKilled bool
}

// killed is the exit code of a process that SIGKILL ended, as shells have it.
const killed = 137

// String completes a sentence that begins with the container's name: "exited with code
// 137 (OOMKilled)". Code 137 does not say who ended the process.
func (e Exit) String() string {
	text := fmt.Sprintf("exited with code %d", e.Code)
	switch {
	case e.OOMKilled:
		text += " (OOMKilled)"
	case e.Code == killed:
		text += " (SIGKILL: a user, the engine or the kernel ended its processes)"
	}
	return text
}

// Exit of the last run, where Status is StatusExited.
func (c Container) Exit() Exit { return Exit{Code: c.ExitCode, OOMKilled: c.OOMKilled} }
