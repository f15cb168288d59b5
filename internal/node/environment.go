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

package node

import (
	"maps"
	"slices"
	"strings"
)

// proxies are the variables that the entrypoint of node images writes into the
// configuration of systemd, which gives them to all services.
func proxies() []string { return []string{"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY"} }

// environment escapes what systemd takes for a specifier, such as a percent-encoded
// character of a password: it would leave out the whole variable.
func environment(variables map[string]string) map[string]string {
	escaped := maps.Clone(variables)
	for _, name := range proxies() {
		if value, ok := escaped[name]; ok {
			escaped[name] = strings.ReplaceAll(value, "%", "%%")
		}
	}
	return escaped
}

// CheckVariable says why no node can have a variable, or nothing.
func CheckVariable(name, value string) (reason, remedy string) {
	switch {
	case name == "container":
		return "is reserved for systemd, which detects containers by it", "remove it"
	case slices.Contains(proxies(), name) && strings.ContainsFunc(value, func(r rune) bool { return r < ' ' || r == '"' || r == '\\' }):
		return "has a quote, a backslash or a control character, which breaks systemd's configuration", "percent-encode these characters"
	default:
		return "", ""
	}
}
