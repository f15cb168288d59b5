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

package manifests

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	utilversion "k8s.io/apimachinery/pkg/util/version"

	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/yaml"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// clientConfigs collects every clientConfig in an object.
func clientConfigs(in any) []map[string]any {
	var found []map[string]any
	switch value := in.(type) {
	case map[string]any:
		if config, ok := value["clientConfig"].(map[string]any); ok {
			found = append(found, config)
		}
		for _, v := range value {
			found = append(found, clientConfigs(v)...)
		}
	case []any:
		for _, v := range value {
			found = append(found, clientConfigs(v)...)
		}
	}
	return found
}

func mustObjects(t *testing.T, more ...fs.FS) map[string]*unstructured.Unstructured {
	t.Helper()
	objects, err := Objects(Server{URL: "https://127.0.0.1:9443", CABundle: []byte("ca")}, more...)
	if err != nil {
		t.Fatalf("Objects(...): %v", err)
	}
	byName := map[string]*unstructured.Unstructured{}
	for _, o := range objects {
		if byName[o.GetName()] != nil {
			t.Errorf("two objects are named %s", o.GetName())
		}
		byName[o.GetName()] = o
	}
	return byName
}

func TestObjectsAreServedHere(t *testing.T) {
	t.Parallel()
	for name, o := range mustObjects(t) {
		if o.GetKind() == kindNamespace || o.GetKind() == kindProvider || name == "providers.clusterctl.cluster.x-k8s.io" {
			continue // nothing is to be asked about clusterctl's inventory
		}
		// The schemas hold fields of the name, which configure nothing.
		content := o.DeepCopy().Object
		unstructured.RemoveNestedField(content, "spec", "versions")
		configs := clientConfigs(content)
		if len(configs) == 0 {
			t.Errorf("%s: want a webhook, for conversion or admission", name)
		}
		for _, config := range configs {
			url, _ := config["url"].(string)
			if !strings.HasPrefix(url, "https://127.0.0.1:9443/") || config["caBundle"] != "Y2E=" || config["service"] != nil {
				t.Errorf("%s: webhook is not at the server: %v", name, config)
			}
		}
	}
}

// TestContractLabels: topologies find the version of a kind by these.
func TestContractLabels(t *testing.T) {
	t.Parallel()
	objects := mustObjects(t)
	for _, name := range []string{
		"kubeadmconfigs.bootstrap.cluster.x-k8s.io",
		"kubeadmconfigtemplates.bootstrap.cluster.x-k8s.io",
		"kubeadmcontrolplanes.controlplane.cluster.x-k8s.io",
		"kubeadmcontrolplanetemplates.controlplane.cluster.x-k8s.io",
	} {
		o := objects[name]
		if o == nil {
			t.Errorf("CRD %s is missing", name)
			continue
		}
		if diff := cmp.Diff("v1beta2", o.GetLabels()["cluster.x-k8s.io/v1beta2"]); diff != "" {
			t.Errorf("contract label of %s: -want, +got:\n%s", name, diff)
		}
	}
	for _, name := range []string{"clusters.cluster.x-k8s.io", "machines.cluster.x-k8s.io", "clusterresourcesets.addons.cluster.x-k8s.io"} {
		if objects[name] == nil {
			t.Errorf("CRD %s is missing", name)
		}
	}
}

// clusterctl moves the objects of those kinds only that have its label.
func TestObjectsCanBeMoved(t *testing.T) {
	t.Parallel()
	for name, o := range mustObjects(t) {
		if _, labeled := o.GetLabels()[clusterctlv1.ClusterctlLabel]; !labeled {
			t.Errorf("%s lacks the label %s", name, clusterctlv1.ClusterctlLabel)
		}
	}
}

func TestObjectsOfOthers(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		files  fstest.MapFS
		names  []string
		want   error
	}{
		"CRD": {
			reason: "A CRD without conversion is installed as it is.",
			files: fstest.MapFS{
				"bases/a.yaml": {Data: []byte("---\napiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: others\n")},
				"README.md":    {Data: []byte("not a manifest")},
			},
			names: []string{"others"},
		},
		"Several": {
			reason: "A file may have several documents, and empty ones.",
			files: fstest.MapFS{"a.yaml": {Data: []byte("---\n" +
				"apiVersion: admissionregistration.k8s.io/v1\nkind: MutatingWebhookConfiguration\nmetadata:\n  name: first\n---\n---\n" +
				"apiVersion: admissionregistration.k8s.io/v1\nkind: ValidatingWebhookConfiguration\nmetadata:\n  name: second\n")}},
			names: []string{"first", "second"},
		},
		"Unexpected": {
			reason: "What is neither a CRD nor a webhook configuration is refused.",
			files:  fstest.MapFS{"a.yaml": {Data: []byte("apiVersion: v1\nkind: Secret\nmetadata:\n  name: a\n")}},
			want:   errUnexpected,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects, err := Objects(Server{}, tc.files)
			if !errors.Is(err, tc.want) {
				t.Fatalf("\n%s\nObjects(...): want error %v, got %v", tc.reason, tc.want, err)
			}
			if tc.want != nil {
				return
			}
			var names []string
			for _, o := range objects[len(mustObjects(t)):] {
				names = append(names, o.GetName())
			}
			if diff := cmp.Diff(tc.names, names); diff != "" {
				t.Errorf("\n%s\nobjects after Cluster API's: -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// clusterctl takes from here which version of a provider a management cluster
// has. It refuses a version that metadata.yaml has no series for.
func TestInventory(t *testing.T) {
	t.Parallel()
	content := must.Get(os.ReadFile("../../../metadata.yaml"))(t)
	var metadata clusterctlv1.Metadata
	must.Succeed(t, yaml.Unmarshal(content, &metadata))
	newest := metadata.ReleaseSeries[len(metadata.ReleaseSeries)-1]
	objects, got := mustObjects(t), map[string]string{}
	for name, o := range objects {
		if o.GetKind() != kindProvider {
			continue
		}
		var provider clusterctlv1.Provider
		must.Succeed(t, runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(o.Object, &provider, true))
		if name != provider.ManifestLabel() || provider.Labels["cluster.x-k8s.io/provider"] != name || objects[provider.Namespace] == nil {
			t.Errorf("Provider %s in namespace %q has the labels %v", name, provider.Namespace, provider.Labels)
		}
		got[provider.Type+" "+provider.ProviderName] = provider.Version
	}
	want := map[string]string{
		"CoreProvider cluster-api": capiVersion, "BootstrapProvider kubeadm": capiVersion, "ControlPlaneProvider kubeadm": capiVersion,
		"InfrastructureProvider container": fmt.Sprintf("v%d.%d.99", newest.Major, newest.Minor),
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Providers: -want, +got:\n%s", diff)
	}
	if _, err := utilversion.ParseSemantic(capiVersion); err != nil {
		t.Errorf("the version of Cluster API: %v", err)
	}
}
