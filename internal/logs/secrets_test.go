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

package logs_test

import (
	"slices"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/logs"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// The bootstrap data of a Machine is found by the Machine, and that of a machine pool's
// by its ContainerMachine.
func TestBootstrapSecrets(t *testing.T) {
	t.Parallel()
	const token = "abcdef.0123456789abcdef"
	const data = "#cloud-config\nwrite_files:\n- path: /run/kubeadm/join.yaml\n  content: |\n    token: " + token + "\n"
	cases := map[string]struct{ inMachine, inAnnotation, want bool }{
		"Machine":     {inMachine: true, want: true},
		"MachinePool": {inAnnotation: true, want: true},
		"None":        {},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			secret := builders.DataSecret(builders.Machine, data)
			objects := builders.New()
			objects.Machine.Spec.Bootstrap.DataSecretName = nil
			if tc.inMachine {
				objects.Machine.Spec.Bootstrap.DataSecretName = ptr.To(secret.Name)
			}
			if tc.inAnnotation {
				metav1.SetMetaDataAnnotation(&objects.ContainerMachine.ObjectMeta, infrav1.BootstrapDataSecretAnnotation, secret.Name)
			}
			c := fake.NewClientBuilder().WithScheme(builders.Scheme(t)).WithObjects(objects.Machine, objects.ContainerMachine, secret).Build()
			found := must.Get(logs.BootstrapSecrets(t.Context(), c, objects.Machine.Namespace, builders.Machine, "container"))(t)
			if slices.Contains(found, token) != tc.want {
				t.Errorf("secrets %q, want the token: %t", found, tc.want)
			}
		})
	}
}
