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

package clusterctl

import (
	"bytes"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/yaml"
)

const certManagerModule = "github.com/cert-manager/cert-manager"

// Repository is a local repository of clusterctl.
type Repository struct {
	// Version of this provider in it.
	Version string
	// Core is Cluster API's version.
	Core string

	tb         testing.TB
	root, path string
}

// provider is an entry of clusterctl's configuration.
type provider struct {
	Name string                    `json:"name"`
	Type clusterctlv1.ProviderType `json:"type"`
	URL  string                    `json:"url"`
}

// NewRepository fills a directory with this provider, as "make
// release-manifests" makes it, with Cluster API's providers, as "make
// management-manifests" does, and with what clusterctl needs of cert-manager to
// begin: its definitions, without anything that would act on them. Clusterctl
// uses it from then on.
func (c *Clusterctl) NewRepository(root, version string) *Repository {
	c.tb.Helper()
	r := &Repository{Version: version, tb: c.tb, root: root, path: c.tb.TempDir()}
	r.Core = r.list("-m", "-f", "{{.Version}}", "sigs.k8s.io/cluster-api")
	r.run("hack/release-manifests.sh")
	r.run("lab/images/manifests.sh", "cluster-api")
	configuration := struct {
		Providers   []provider        `json:"providers"`
		CertManager map[string]string `json:"cert-manager"`
	}{
		Providers: []provider{
			r.provider("cluster-api", clusterctlv1.CoreProviderType, r.Core, "core-components.yaml"),
			r.provider("kubeadm", clusterctlv1.BootstrapProviderType, r.Core, "bootstrap-components.yaml"),
			r.provider("kubeadm", clusterctlv1.ControlPlaneProviderType, r.Core, "control-plane-components.yaml"),
			r.provider("container", clusterctlv1.InfrastructureProviderType, r.Version, "infrastructure-components.yaml"),
		},
		CertManager: r.certManager(),
	}
	content, err := yaml.Marshal(configuration)
	if err != nil {
		c.tb.Fatal(err)
	}
	c.config = filepath.Join(r.path, "clusterctl.yaml")
	write(c.tb, c.config, content)
	return r
}

// Files of this provider in the repository.
func (r *Repository) Files(pattern string) []string {
	r.tb.Helper()
	found, err := filepath.Glob(filepath.Join(r.path, "infrastructure-container", r.Version, pattern))
	if err != nil {
		r.tb.Fatal(err)
	}
	return found
}

// run a script that writes a part of the repository.
func (r *Repository) run(script string, args ...string) {
	r.tb.Helper()
	command := exec.CommandContext(r.tb.Context(), filepath.Join(r.root, script), args...)
	command.Env = append(os.Environ(), "RELEASE_VERSION="+r.Version, "RELEASE_DIR="+r.path)
	if output, err := command.CombinedOutput(); err != nil {
		r.tb.Fatalf("run %s: %v\n%s", script, err, output)
	}
}

func (r *Repository) provider(name string, kind clusterctlv1.ProviderType, version, file string) provider {
	return provider{Name: name, Type: kind, URL: r.url(clusterctlv1.ManifestLabel(name, kind), version, file)}
}

// certManager writes the definitions of the cert-manager whose image is built
// here, and returns where they are.
func (r *Repository) certManager() map[string]string {
	r.tb.Helper()
	downloaded, err := output(r.tb, filepath.Join(r.root, "lab", "images", "cert-manager"), "go", "mod", "download", "-json", certManagerModule)
	if err != nil {
		r.tb.Fatalf("download %s: %v", certManagerModule, err)
	}
	var module struct{ Version, Dir string }
	if err := json.Unmarshal(downloaded, &module); err != nil {
		r.tb.Fatal(err)
	}
	paths, err := filepath.Glob(filepath.Join(module.Dir, "deploy", "crds", "*.yaml"))
	if err != nil || len(paths) == 0 {
		r.tb.Fatalf("find the definitions of cert-manager: %d, %v", len(paths), err)
	}
	documents := [][]byte{[]byte("apiVersion: v1\nkind: Namespace\nmetadata:\n  name: cert-manager\n")}
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			r.tb.Fatal(err)
		}
		documents = append(documents, content)
	}
	// What clusterctl calls a provider whose type it does not know.
	label := clusterctlv1.ManifestLabel("cert-manager", "")
	const file = "cert-manager.yaml"
	write(r.tb, filepath.Join(r.path, label, module.Version, file), bytes.Join(documents, []byte("\n---\n")))
	return map[string]string{"version": module.Version, "url": r.url(label, module.Version, file)}
}

func (r *Repository) url(label, version, file string) string {
	return "file://" + filepath.Join(r.path, label, version, file)
}

func (r *Repository) list(args ...string) string {
	r.tb.Helper()
	found, err := output(r.tb, r.root, "go", append([]string{"list"}, args...)...)
	if err != nil {
		r.tb.Fatalf("go list: %v", err)
	}
	return strings.TrimSpace(string(found))
}
