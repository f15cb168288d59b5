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

package objects

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"
)

var update = flag.Bool("update", false, "write the golden files anew")

func values() Values {
	return Values{
		Namespace: "default", Name: "demo",
		KubernetesVersion: "v1.36.3",
		ControlPlanes:     1, Workers: 1,
		NodeImage:         "localhost/capcon/node:v1.36.3",
		LoadBalancerImage: "localhost/capcon/haproxy:2.6",
		Network:           "capcon",
		PodCIDR:           "192.168.0.0/16", ServiceCIDR: "10.128.0.0/12",
		CNIManifest: "kind: Pod\n",
	}
}

func TestRenderGolden(t *testing.T) {
	t.Parallel()
	cases := map[string]func(*Values){
		"one-and-one": func(*Values) {},
		"defaults-of-the-provider": func(v *Values) {
			v.LoadBalancerImage, v.Network, v.CNIManifest = "", "", ""
			v.ControlPlanes, v.Workers = 3, 0
		},
	}
	for name, change := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := values()
			change(&v)
			rendered, err := Render(v)
			if err != nil {
				t.Fatal(err)
			}
			got := manifest(t, rendered)
			golden := filepath.Join("testdata", name+".golden.yaml")
			if *update {
				if err := os.WriteFile(golden, got, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			want, err := os.ReadFile(golden)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(string(want), string(got)); diff != "" {
				t.Errorf("rendered objects differ from %s (-want +got):\n%s", golden, diff)
			}
		})
	}
}

func TestRenderNamesTemplatesAfterTheirContent(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*Values)
		same   bool
	}{
		"scale": {
			reason: "Scaling must not replace machines.",
			change: func(v *Values) { v.Workers, v.ControlPlanes = 5, 3 }, same: true,
		},
		"image": {
			reason: "Another image must roll all machines out.",
			change: func(v *Values) { v.NodeImage = "other" },
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			changed := values()
			tc.change(&changed)
			before, after := templateNames(t, values()), templateNames(t, changed)
			if diff := cmp.Diff(before, after); (diff == "") != tc.same {
				t.Errorf("%s Names before and after differ by:\n%s", tc.reason, diff)
			}
		})
	}
}

func templateNames(t *testing.T, v Values) []string {
	t.Helper()
	rendered, err := Render(v)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, object := range rendered {
		if object.GetObjectKind().GroupVersionKind().Kind == "ContainerMachineTemplate" {
			names = append(names, object.GetName())
		}
	}
	return names
}

func manifest(t *testing.T, rendered []client.Object) []byte {
	t.Helper()
	var documents [][]byte
	for _, object := range rendered {
		document, err := yaml.Marshal(object)
		if err != nil {
			t.Fatal(err)
		}
		documents = append(documents, document)
	}
	return bytes.Join(documents, []byte("---\n"))
}
