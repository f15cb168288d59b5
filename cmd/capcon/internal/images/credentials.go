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
	"net/url"
	"os"
	"strings"

	"github.com/distribution/reference"
	"github.com/docker/cli/cli/config"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// storedCredentials are those that the user gave "docker login", from its
// file or its credential helper; nil where there are none for the image's
// registry.
func storedCredentials(image string) (*engine.Credentials, error) {
	named, err := reference.ParseNormalizedNamed(image)
	if err != nil {
		return nil, fmt.Errorf("find the registry of image %q: %w", image, err)
	}
	// The package looks at the variable only once per process.
	file, err := config.Load(cmp.Or(os.Getenv(config.EnvOverrideConfigDir), config.Dir()))
	if err != nil {
		return nil, fmt.Errorf("read stored registry credentials: %w", err)
	}
	all, err := file.GetAllCredentials()
	if err != nil {
		return nil, fmt.Errorf("read stored registry credentials: %w", err)
	}
	domain := reference.Domain(named)
	for server, stored := range all {
		if stored.Username != "" && serves(server, domain) {
			return &engine.Credentials{Username: stored.Username, Password: stored.Password}, nil
		}
	}
	return nil, nil //nolint:nilnil // no credentials is an answer
}

// serves reports whether credentials stored for server are those of the
// domain. They are stored under a host or a URL, and for the default registry
// under that of its index, which is a host of the same domain.
func serves(server, domain string) bool {
	host := server
	if parsed, err := url.Parse(server); err == nil && parsed.Host != "" {
		host = parsed.Host
	}
	return host == domain || host == "index."+strings.TrimPrefix(domain, "index.")
}
