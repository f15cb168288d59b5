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

package target

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	clusterctlconfig "sigs.k8s.io/cluster-api/cmd/clusterctl/client/config"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestUseCertManager(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason  string
		config  string
		release string
		err     string
		timeout string
	}{
		"Repository": {
			reason: "What the framework writes has no cert-manager.",
			config: "KUBERNETES_VERSION: v1.36.3\nproviders: []\n", release: "v1.21.2", timeout: "10m0s",
		},
		"Repeated": {
			reason: "The last manifest is used; what else is set stays.",
			config: "KUBERNETES_VERSION: v1.36.3\ncert-manager: {timeout: 15m, url: file:///old, version: v1.0.0}\n", release: "v1.21.2", timeout: "15m",
		},
		"NoVersion": {
			reason: "clusterctl would refuse the URL.",
			config: "providers: []\n", release: "cert-manager", err: "version of cert-manager",
		},
		"NotYAML": {
			reason: "It is not overwritten.",
			config: "providers: [\n", release: "v1.21.2", err: "decode",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			directory := t.TempDir()
			config, manifest := filepath.Join(directory, "clusterctl-config.yaml"), filepath.Join(directory, tc.release, "cert-manager.yaml")
			if err := errors.Join(os.WriteFile(config, []byte(tc.config), 0o600), os.Mkdir(filepath.Dir(manifest), 0o750),
				os.WriteFile(manifest, nil, 0o600)); err != nil {
				t.Fatal(err)
			}
			err := UseCertManager(config, manifest)
			if tc.err != "" {
				if err == nil || !strings.Contains(err.Error(), tc.err) {
					t.Errorf("%s Got the error %v, want one with %q", tc.reason, err, tc.err)
				}
				return
			}
			must.Succeed(t, err)
			// As clusterctl reads it.
			read, err := clusterctlconfig.New(t.Context(), config)
			must.Succeed(t, err)
			got, err := read.CertManager().Get()
			must.Succeed(t, err)
			if got.URL() != "file://"+manifest || got.Version() != tc.release || got.Timeout() != tc.timeout {
				t.Errorf("%s Got %s, %s, %s, want %s, %s, %s", tc.reason,
					got.URL(), got.Version(), got.Timeout(), "file://"+manifest, tc.release, tc.timeout)
			}
			if value, err := read.Variables().Get("KUBERNETES_VERSION"); err != nil || value != "v1.36.3" {
				t.Errorf("The variable of the configuration is %q, %v", value, err)
			}
		})
	}
}

func TestUseCertManagerWithoutManifest(t *testing.T) {
	t.Parallel()
	missing := filepath.Join(t.TempDir(), "v1.21.2", "cert-manager.yaml")
	if err := UseCertManager("any", missing); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("Got %v, want an error that says that the manifest does not exist", err)
	}
}
