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

package repository

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/nodefiles"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// Cluster API reaches the extension at the Service of the webhooks, and in no namespace without the label.
func TestExtensionConfig(t *testing.T) {
	t.Parallel()
	config := &runtimev1.ExtensionConfig{}
	must.Succeed(t, yaml.UnmarshalStrict(must.Get(os.ReadFile(filepath.Join(root, "config", "runtime-extension", "extension_config.yaml")))(t), config))
	if config.Name != infrav1.InPlaceUpdatesExtension {
		t.Errorf("the extension is %q, want %q", config.Name, infrav1.InPlaceUpdatesExtension)
	}
	objects := build(t, "default")
	for _, object := range objects {
		if object.GetKind() == "ExtensionConfig" {
			t.Error("the provider has an ExtensionConfig, which Cluster API refuses while its gates are off")
		}
	}
	service := one[corev1.Service](t, objects, "Service")
	if at := config.Spec.ClientConfig.Service; at.Name != service.Name || at.Namespace != service.Namespace {
		t.Errorf("the extension is at %s/%s, and the webhooks at %s/%s", at.Namespace, at.Name, service.Namespace, service.Name)
	}
	var certificate string
	for _, object := range objects {
		if object.GetKind() == "Certificate" {
			spec, _ := object.Object["spec"].(map[string]any)
			certificate, _ = spec["secretName"].(string)
		}
	}
	if got, want := config.Annotations[runtimev1.InjectCAFromSecretAnnotation], service.Namespace+"/"+certificate; got != want {
		t.Errorf("the authority is that of %s, want %s", got, want)
	}
	selector := must.Get(metav1.LabelSelectorAsSelector(config.Spec.NamespaceSelector))(t)
	if want := infrav1.InPlaceUpdatesLabel + "=" + infrav1.InPlaceUpdatesEnabled; selector.String() != want {
		t.Errorf("the extension is for namespaces with %s, want %s", selector, want)
	}
}

// Users read what is restarted.
func TestRestartsAreDocumented(t *testing.T) {
	t.Parallel()
	text := readFile(t, "docs/how-to/in-place-updates.md")
	last := 0
	for _, entry := range nodefiles.RestartTable() {
		row := "| `" + entry.Directory + "` | nothing"
		if entry.Unit != "" {
			row = "| `" + entry.Directory + "` | `" + entry.Unit + "` |"
		}
		at := strings.Index(text, row)
		if at < last {
			t.Errorf("docs/how-to/in-place-updates.md lacks, or has in another order: %s", row)
		}
		last = at
	}
}
