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
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/templates"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestChoose(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		local   string
		request Request
		want    string
	}{
		"named": {
			"The user's word counts.", "localhost/capcon/node:v1.36.3",
			Request{Use: Node, Named: "mine:1", Registry: "127.0.0.1:5000", KubernetesVersion: "v1.36.3"}, "mine:1",
		},
		"registry": {
			"Who names a registry wants its images.", "localhost/capcon/node:v1.36.3",
			Request{Use: Node, Registry: "127.0.0.1:5000", KubernetesVersion: "v1.36.3"}, "127.0.0.1:5000/kindest/node:v1.36.3",
		},
		"offline": {
			"What is there needs no registry.", "localhost/capcon/node:v1.36.3",
			Request{Use: Node, KubernetesVersion: "v1.36.3"}, "localhost/capcon/node:v1.36.3",
		},
		"offline of another version": {
			"It does not fit.", "localhost/capcon/node:v1.36.3",
			Request{Use: Node, KubernetesVersion: "v1.35.4"}, "localhost/capcon/node:v1.35.4",
		},
		"published": {
			"It is the one the provider itself would take.", "localhost/capcon/node:v1.36.3",
			Request{Use: Node, KubernetesVersion: "v1.36.4"}, "docker.io/kindest/node@sha256:099e049362a1526b2db71494e1947aae99bd16290d7c895f2b7ea312e3cbfaed",
		},
		"published, in a registry": {
			"A mirror has names.", "",
			Request{Use: Node, Registry: "127.0.0.1:5000", KubernetesVersion: "v1.36.4"}, "127.0.0.1:5000/kindest/node:v1.36.4",
		},
		"not known, in a registry": {
			"Who has a mirror knows what is in it.", "",
			Request{Use: Node, Registry: "127.0.0.1:5000", KubernetesVersion: "v1.36.99"}, "127.0.0.1:5000/kindest/node:v1.36.99",
		},
		"not known, built": {
			"What is there is there.", "localhost/capcon/node:v1.36.99",
			Request{Use: Node, KubernetesVersion: "v1.36.99"}, "localhost/capcon/node:v1.36.99",
		},
		"load balancer":     {"It is the one the provider itself would take.", "", Request{Use: LoadBalancer}, loadbalancer.DefaultImage},
		"plane":             {"What is there.", "localhost/capcon/plane:dev", Request{Use: Plane}, "localhost/capcon/plane:dev"},
		"plane, not there":  {"No registry has it.", "", Request{Use: Plane}, "localhost/capcon/plane:dev"},
		"plane, a registry": {"Its name there proves nothing.", "", Request{Use: Plane, Registry: "127.0.0.1:5000"}, "localhost/capcon/plane:dev"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := simulated.New()
			if tc.local != "" {
				e.AddImage(engine.Image{Tags: []string{tc.local}}, nil)
			}
			got, err := Choose(t.Context(), e, tc.request)
			if err != nil || got != tc.want {
				t.Errorf("%s Want %s, got %s, %v", tc.reason, tc.want, got, err)
			}
		})
	}
}

// What the conditions of a machine say of such a version, capcon says before
// there is one.
func TestChooseNamesKnownVersions(t *testing.T) {
	t.Parallel()
	_, err := Choose(t.Context(), simulated.New(), Request{Use: Node, KubernetesVersion: "v1.36.99"})
	var unknown *node.VersionError
	if !errors.As(err, &unknown) || !strings.Contains(err.Error(), unknown.Error()) || !strings.Contains(err.Error(), "--image") {
		t.Errorf("Want a VersionError and what to do about it, got: %v", err)
	}
}

func TestEnsureSaysWhatToDo(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	e := simulated.New()
	e.FailNext("PullImage", engine.ErrUnavailable)
	err := Ensure(t.Context(), e, Node, "kindest/node:v1.36.3", nil)
	var missing *MissingError
	if !errors.As(err, &missing) {
		t.Fatalf("Want a MissingError, got: %v", err)
	}
	for _, word := range []string{"kindest/node:v1.36.3", "not reachable", "make images", "capcon images load", "--image", "--registry"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("Want %q in: %v", word, err)
		}
	}
}

// An image for another architecture would end and be restarted indefinitely.
func TestEnsureComparesTheArchitecture(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	for name, tc := range map[string]struct {
		reason, architecture string
		remote, want         bool
	}{
		"Same":    {"It runs.", "amd64", false, false},
		"Unknown": {"Some tools write none.", "", false, false},
		"Other":   {"An archive of a release for another machine was loaded.", "arm64", false, true},
		"Pulled":  {"A digest is of one architecture.", "arm64", true, true},
	} {
		t.Run(name, func(t *testing.T) {
			e := simulated.New()
			image := engine.Image{Tags: []string{"r.example/haproxy:1"}, Architecture: tc.architecture}
			if tc.remote {
				e.AddRegistryImage(image.Tags[0], image, nil)
			} else {
				e.AddImage(image, nil)
			}
			err := Ensure(t.Context(), e, LoadBalancer, image.Tags[0], nil)
			mismatch := new(ArchitectureError)
			if errors.As(err, &mismatch) != tc.want || !tc.want && err != nil {
				t.Fatalf("%s Got %v", tc.reason, err)
			}
			const text = `image "r.example/haproxy:1" of the load balancer has architecture arm64, but the engine has amd64; `
			if tc.want && (!strings.HasPrefix(err.Error(), text) || !strings.Contains(err.Error(), "--load-balancer-image")) {
				t.Errorf("Got %v, want %q and the flag", err, text)
			}
		})
	}
}

// A released capcon names the file of its release and the command that loads it.
func TestRemedyOfARelease(t *testing.T) {
	t.Parallel()
	for _, use := range []Use{Node, LoadBalancer, Plane, Registry} {
		got := remedy(use, "v0.1.0")
		for _, word := range []string{"-linux-amd64.tar of release v0.1.0", `"capcon images load `} {
			if !strings.Contains(got, word) {
				t.Errorf("%s: want %q in: %s", use, word, got)
			}
		}
	}
}

// Credentials are for the registry that they were stored for.
func TestStoredCredentials(t *testing.T) {
	// user:secret
	const entry = `{"auth":"dXNlcjpzZWNyZXQ="}`
	cases := map[string]struct {
		reason, stored, image string
		want                  bool
	}{
		"host and port":     {"As docker login stores it.", "127.0.0.1:5000", "127.0.0.1:5000/kindest/node:v1", true},
		"another port":      {"Another registry.", "127.0.0.1:5000", "127.0.0.1:5001/kindest/node:v1", false},
		"URL":               {"As older clients store it.", "https://r.example/v1/", "r.example/a:1", true},
		"docker.io":         {"It is stored under its index.", "https://index.docker.io/v1/", "kindest/node:v1", true},
		"docker.io by name": {"As podman login stores it.", "docker.io", "docker.io/kindest/node:v1", true},
		"index of another":  {"A host of its own.", "index.r.example", "r.example/a:1", false},
		"domain of a host":  {"A host of its own.", "r.example", "index.r.example/a:1", false},
		"short name":        {"No registry but docker.io is meant.", "quay.io", "kindest/node:v1", false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			directory := t.TempDir()
			t.Setenv("DOCKER_CONFIG", directory)
			config := fmt.Sprintf(`{"auths":{%q:%s}}`, tc.stored, entry)
			must.Succeed(t, os.WriteFile(filepath.Join(directory, "config.json"), []byte(config), 0o600))
			e := simulated.New()
			e.AddRegistryImage(tc.image, engine.Image{}, &engine.Credentials{Username: "user", Password: "secret"})
			err := Ensure(t.Context(), e, Node, tc.image, nil)
			if tc.want && err != nil || !tc.want && !errors.Is(err, engine.ErrUnauthorized) {
				t.Errorf("%s Want access %t, got: %v", tc.reason, tc.want, err)
			}
		})
	}
}

// The plane gets the engine's socket: a user who can push to the name of its image
// would be root on the host.
func TestEnsurePullsThePlaneByDigestOnly(t *testing.T) {
	t.Setenv("DOCKER_CONFIG", t.TempDir())
	digest := "@sha256:" + strings.Repeat("ab", 32)
	cases := map[string]struct {
		reason, registry, local string
		request                 Request
		want                    []string
	}{
		"nothing said": {
			"No name that this project does not own.", "docker.io/capcon/plane:dev", "", Request{Use: Plane},
			[]string{"localhost/capcon/plane:dev", "never pulled", "make images-load", "ENGINE=", "capcon images load", "--plane-image", "@sha256:"},
		},
		"registry": {"The registry is for the other images.", "r.example/capcon/plane:dev", "", Request{Use: Plane, Registry: "r.example"}, []string{"never pulled", "--plane-image"}},
		"tag":      {"It may be another image tomorrow.", "r.example/plane:1", "", Request{Use: Plane, Named: "r.example/plane:1"}, []string{"r.example/plane:1", "digest", "make images-load", "--plane-image"}},
		"digest":   {"It is what the user chose.", "r.example/plane" + digest, "", Request{Use: Plane, Named: "r.example/plane" + digest}, nil},
		"in memory": {
			"No release has it.", "docker.io/capcon/plane-memory:dev", "", Request{Use: MemoryPlane},
			[]string{"localhost/capcon/plane-memory:dev", "never pulled", "make images-load IMAGES=plane-memory", "--plane-image", "@sha256:"},
		},
		"in memory, tag":   {"Its engine may get it for another plane later.", "r.example/plane:1", "", Request{Use: MemoryPlane, Named: "r.example/plane:1"}, []string{"digest", "--plane-image"}},
		"tag that is here": {"Nothing is pulled.", "", "r.example/plane:1", Request{Use: Plane, Named: "r.example/plane:1"}, nil},
		"built":            {"Nothing is pulled.", "", "localhost/capcon/plane:dev", Request{Use: Plane, Registry: "r.example"}, nil},
		"tag of a node":    {"It gets no socket, and the user chose it.", "r.example/node:1", "", Request{Use: Node, Named: "r.example/node:1"}, nil},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			e := simulated.New()
			if tc.registry != "" {
				e.AddRegistryImage(tc.registry, engine.Image{}, nil)
			}
			if tc.local != "" {
				e.AddImage(engine.Image{Tags: []string{tc.local}}, nil)
			}
			image, err := Choose(t.Context(), e, tc.request)
			must.Succeed(t, err)
			err = Ensure(t.Context(), e, tc.request.Use, image, nil)
			if tc.want == nil {
				if err != nil {
					t.Errorf("%s Got: %v", tc.reason, err)
				}
				return
			}
			var missing *MissingError
			if !errors.As(err, &missing) {
				t.Fatalf("%s Want a MissingError, got: %v", tc.reason, err)
			}
			for _, word := range tc.want {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("Want %q in: %v", word, err)
				}
			}
			if calls := e.MutatingCalls(); len(calls) != 0 {
				t.Errorf("%s Calls: %v", tc.reason, calls)
			}
		})
	}
}

func TestReadNode(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, image string
		want          NodeImage
	}{
		"node image": {"Both files are read.", "node:1", NodeImage{KubernetesVersion: "v1.36.3", CNIManifest: templates.Flannel}},
		"other":      {"An image that says nothing about itself is no error.", "bare:1", NodeImage{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := simulated.New()
			e.AddImage(engine.Image{Tags: []string{"node:1"}}, map[string][]byte{
				"kind/version":                    []byte("v1.36.3\n"),
				"kind/manifests/default-cni.yaml": []byte(templates.Flannel),
			})
			e.AddImage(engine.Image{Tags: []string{"bare:1"}}, nil)
			got := must.Get(ReadNode(t.Context(), e, tc.image))(t)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if left, err := e.ListContainers(t.Context(), nil); err != nil || len(left) != 0 {
				t.Errorf("No container stays, got %v, %v", left, err)
			}
		})
	}
	if _, err := ReadNode(t.Context(), simulated.New(), "absent:1"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("An absent image is ErrNotFound, got: %v", err)
	}
}

func TestRenderCNI(t *testing.T) {
	t.Parallel()
	got := must.Get(RenderCNI(templates.Flannel, "192.168.0.0/16"))(t)
	if !strings.Contains(got, `"--pod-subnets=192.168.0.0/16"`) || strings.Contains(got, "{{") {
		t.Errorf("The Pod subnet has to be filled in:\n%s", got)
	}
	const other = "kind: ConfigMap\ndata: {a: '{{ not ours }}'}\n"
	if got, err := RenderCNI(other, "192.168.0.0/16"); err != nil || got != other {
		t.Errorf("A manifest that is no template stays as it is, got: %q, %v", got, err)
	}
	for _, wrong := range []string{"{{", "{{ .Unknown }}"} {
		if got, err := RenderCNI("# would you kindly template this file\n"+wrong, "192.168.0.0/16"); err == nil {
			t.Errorf("A template that cannot be filled in is an error, got: %q", got)
		}
	}
}
