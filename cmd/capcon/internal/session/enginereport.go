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

package session

import (
	"fmt"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// EngineReport describes an engine; its fields are an interface that scripts rely on.
type EngineReport struct {
	Name       string `json:"name,omitempty"`
	Version    string `json:"version,omitempty"`
	APIVersion string `json:"apiVersion,omitempty"`
	Endpoint   string `json:"endpoint,omitempty"`
	// ChosenBy says why it is this engine.
	ChosenBy string `json:"chosenBy,omitempty"`
	// Warnings it gives about itself.
	Warnings []string `json:"warnings,omitempty"`
	// Error is why it cannot be reached.
	Error string `json:"error,omitempty"`
}

// ReportEngine describes an engine that answered.
func ReportEngine(info engine.Info) EngineReport {
	return EngineReport{Name: info.Name, Version: info.Version, APIVersion: info.APIVersion, Endpoint: info.Endpoint, ChosenBy: info.ChosenBy}
}

// String describes the engine in a few words.
func (e EngineReport) String() string {
	if e.Error != "" {
		return "unavailable"
	}
	return fmt.Sprintf("%s %s at %s", e.Name, e.Version, e.Endpoint)
}
