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

package images

import (
	"cmp"
	"fmt"
	"os"

	"github.com/docker/cli/cli/config"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// dockerHub are the names that credentials for docker.io are stored under: the
// address of its index by docker login, its own by podman login.
var dockerHub = []string{"https://index.docker.io/v1/", "docker.io"}

// storedCredentials are those that the user gave "docker login", from its
// file or its credential helper; nil where there are none for the registry.
func storedCredentials(registry string) (*engine.Credentials, error) {
	// The package looks at the variable only once per process.
	file, err := config.Load(cmp.Or(os.Getenv(config.EnvOverrideConfigDir), config.Dir()))
	if err != nil {
		return nil, fmt.Errorf("read stored registry credentials: %w", err)
	}
	names := []string{registry}
	if registry == "docker.io" {
		names = dockerHub
	}
	for _, name := range names {
		// GetAuthConfig would replace docker.io by the address of its index.
		stored, err := file.GetCredentialsStore(name).Get(name)
		if err != nil {
			return nil, fmt.Errorf("read stored credentials for %s: %w", registry, err)
		}
		if stored.Username != "" {
			return &engine.Credentials{Username: stored.Username, Password: stored.Password}, nil
		}
	}
	return nil, nil //nolint:nilnil // no credentials is an answer
}
