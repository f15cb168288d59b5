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

const (
	capiModule = "sigs.k8s.io/cluster-api"
	// certManagerVersion is that of the definitions that certificates of
	// webhooks are checked by.
	certManagerVersion = "v1.21.2"
	certManagerModule  = "github.com/cert-manager/cert-manager"
)

// Repository is a local repository of clusterctl.
type Repository struct {
	// Version of this provider in it.
	Version string
	// Core is Cluster API's version.
	Core string

	tb         testing.TB
	root, path string
	kustomize  string
}

// provider is an entry of clusterctl's configuration.
type provider struct {
	Name string                    `json:"name"`
	Type clusterctlv1.ProviderType `json:"type"`
	URL  string                    `json:"url"`
}

// NewRepository fills a directory with this provider, as "make
// release-manifests" makes it, with Cluster API's providers, made of its
// module's manifests, and with what clusterctl needs of cert-manager to begin:
// its definitions, without anything that would act on them. Clusterctl uses it
// from then on.
func (c *Clusterctl) NewRepository(root, version string) *Repository {
	c.tb.Helper()
	r := &Repository{
		Version: version, tb: c.tb, root: root, path: c.tb.TempDir(), kustomize: tool(c.tb, root, "kustomize"),
	}
	module := r.list("-m", "-f", "{{.Version}} {{.Dir}}", capiModule)
	core, capi, _ := strings.Cut(module, " ")
	r.Core = core
	configuration := struct {
		Providers   []provider        `json:"providers"`
		CertManager map[string]string `json:"cert-manager"`
	}{
		Providers: []provider{
			r.cluster(capi, "cluster-api", clusterctlv1.CoreProviderType, "core/config/default", "core-components.yaml"),
			r.cluster(capi, "kubeadm", clusterctlv1.BootstrapProviderType, "bootstrap/kubeadm/config/default", "bootstrap-components.yaml"),
			r.cluster(capi, "kubeadm", clusterctlv1.ControlPlaneProviderType, "controlplane/kubeadm/config/default", "control-plane-components.yaml"),
			r.release(),
		},
		CertManager: map[string]string{"version": certManagerVersion, "url": r.certManager()},
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

// release writes this provider as a release has it.
func (r *Repository) release() provider {
	r.tb.Helper()
	command := exec.CommandContext(r.tb.Context(), "make", "-C", r.root, "release-manifests")
	command.Env = append(os.Environ(), "RELEASE_VERSION="+r.Version, "RELEASE_DIR="+r.path)
	if output, err := command.CombinedOutput(); err != nil {
		r.tb.Fatalf("make release-manifests: %v\n%s", err, output)
	}
	kind := clusterctlv1.InfrastructureProviderType
	return provider{Name: "container", Type: kind, URL: r.url(clusterctlv1.ManifestLabel("container", kind), r.Version, "infrastructure-components.yaml")}
}

// cluster writes one of Cluster API's providers.
func (r *Repository) cluster(capi, name string, kind clusterctlv1.ProviderType, overlay, file string) provider {
	r.tb.Helper()
	components, err := output(r.tb, "", r.kustomize, "build", filepath.Join(capi, overlay))
	if err != nil {
		r.tb.Fatalf("kustomize build %s: %v", overlay, err)
	}
	metadata, err := os.ReadFile(filepath.Join(capi, "metadata.yaml"))
	if err != nil {
		r.tb.Fatal(err)
	}
	label := clusterctlv1.ManifestLabel(name, kind)
	write(r.tb, filepath.Join(r.path, label, r.Core, file), components)
	write(r.tb, filepath.Join(r.path, label, r.Core, "metadata.yaml"), metadata)
	return provider{Name: name, Type: kind, URL: r.url(label, r.Core, file)}
}

// certManager writes cert-manager's definitions, and returns where they are.
func (r *Repository) certManager() string {
	r.tb.Helper()
	downloaded, err := output(r.tb, r.root, "go", "mod", "download", "-json", certManagerModule+"@"+certManagerVersion)
	if err != nil {
		r.tb.Fatalf("download %s: %v", certManagerModule, err)
	}
	var module struct{ Dir string }
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
	write(r.tb, filepath.Join(r.path, label, certManagerVersion, file), bytes.Join(documents, []byte("\n---\n")))
	return r.url(label, certManagerVersion, file)
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
