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

package identity

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
)

const providerIDPrefix = "container:///"

// ErrProviderID says that a provider ID is not one of this provider.
var ErrProviderID = errors.New("provider ID must be " + providerIDPrefix + "<container name>")

// containerNamePattern is what Docker and Podman accept as a name.
var containerNamePattern = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]*$`)

// ProviderID of the machine that a container is.
func ProviderID(container string) string { return providerIDPrefix + container }

// ParseProviderID returns the container's name, or ErrProviderID.
func ParseProviderID(providerID string) (string, error) {
	name, found := strings.CutPrefix(providerID, providerIDPrefix)
	if !found || !containerNamePattern.MatchString(name) {
		return "", fmt.Errorf("parse provider ID %q: %w", providerID, ErrProviderID)
	}
	return name, nil
}
