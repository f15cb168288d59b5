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

package env_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/serializer"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/contract"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/release"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// checkOutdated makes a definition older than the manager, which must notice it.
func checkOutdated(t *testing.T, api client.Client) {
	t.Helper()
	must.Succeed(t, release.CheckDefinitions(t.Context(), api))
	definition := &apiextensionsv1.CustomResourceDefinition{}
	name := contract.CalculateCRDName(infrav1.GroupVersion.Group, "ContainerCluster")
	must.Succeed(t, api.Get(t.Context(), client.ObjectKey{Name: name}, definition))
	delete(definition.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties, "ownerID")
	must.Succeed(t, api.Update(t.Context(), definition))
	var got *release.OutdatedError
	if err := release.CheckDefinitions(t.Context(), api); !errors.As(err, &got) {
		t.Fatalf("the manager would start with an older definition: %v", err)
	}
	if diff := cmp.Diff(&release.OutdatedError{Definition: name, Lacks: []string{"spec.ownerID"}}, got); diff != "" {
		t.Errorf("the older definition (-want +got):\n%s", diff)
	}
}

// checkStatus: status is a subresource, on which conditions and the rest of
// it are kept.
func checkStatus(t *testing.T, api client.Client) {
	t.Helper()
	machine := &infrav1.ContainerMachine{
		ObjectMeta: metav1.ObjectMeta{Namespace: builders.Namespace, Name: "status"},
		Status:     infrav1.ContainerMachineStatus{FailureDomain: "ignored"},
	}
	must.Succeed(t, api.Create(t.Context(), machine))
	if machine.Status.FailureDomain != "" {
		t.Errorf("creating an object wrote its status: %+v", machine.Status)
	}
	want := infrav1.ContainerMachineStatus{
		Initialization: infrav1.Initialization{Provisioned: ptr.To(true)}, FailureDomain: "zone-a",
		Addresses:  clusterv1.MachineAddresses{{Type: clusterv1.MachineInternalIP, Address: "172.18.0.2"}},
		Conditions: []metav1.Condition{{Type: "Ready", Status: "True", Reason: "Ready", LastTransitionTime: metav1.Now().Rfc3339Copy()}},
	}
	machine.Status = *want.DeepCopy()
	machine.Spec.Image = "ignored"
	must.Succeed(t, api.Status().Update(t.Context(), machine))
	if diff := cmp.Diff(want, machine.Status); diff != "" || machine.Spec.Image != "" {
		t.Errorf("status (-want +got), image %q:\n%s", machine.Spec.Image, diff)
	}
	must.Succeed(t, api.Delete(t.Context(), machine))
}

// checkColumns checks what kubectl prints.
func checkColumns(t *testing.T, config *rest.Config, api client.Client) {
	t.Helper()
	for resource, want := range map[string][]string{
		"containerclusters": {"Name", "Cluster", "Ready", "Provisioned", "Endpoint", "Host port", "Paused", "Age"},
		"containermachines": {"Name", "Cluster", "Machine", "Ready", "Reason", "Provider ID", "Internal IP", "Failure domain", "Paused", "Age"},
		"containermachinepools": {
			"Name", "Cluster", "MachinePool", "Replicas", "Ready", "Reason", "Up-to-date", "Paused", "Age",
		},
	} {
		var names []string
		for _, column := range table(t, config, api, resource).ColumnDefinitions {
			names = append(names, column.Name)
		}
		if diff := cmp.Diff(want, names); diff != "" {
			t.Errorf("columns of %s (-want +got):\n%s", resource, diff)
		}
	}
}

// checkRow checks what kubectl prints of one object, as "resource/name".
func checkRow(t *testing.T, config *rest.Config, api client.Client, object string, want map[string]string) {
	t.Helper()
	resource, name, _ := strings.Cut(object, "/")
	shown := table(t, config, api, resource)
	for _, row := range shown.Rows {
		if row.Cells[0] != name {
			continue
		}
		got := map[string]string{}
		for i, column := range shown.ColumnDefinitions {
			if _, asked := want[column.Name]; asked {
				got[column.Name] = strings.Trim(text(t, row.Cells[i]), `"`)
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", resource, name, diff)
		}
		return
	}
	t.Errorf("%s %s is not listed", resource, name)
}

func text(t *testing.T, value any) string {
	t.Helper()
	out := must.Get(json.Marshal(value))(t)
	return string(out)
}

// table asks as kubectl does.
func table(t *testing.T, config *rest.Config, api client.Client, resource string) metav1.Table {
	t.Helper()
	config = rest.CopyConfig(config)
	config.GroupVersion, config.APIPath = &infrav1.GroupVersion, "/apis"
	config.NegotiatedSerializer = serializer.NewCodecFactory(api.Scheme()).WithoutConversion()
	asked := must.Get(rest.RESTClientFor(config))(t)
	raw := must.Get(asked.Get().Namespace(builders.Namespace).Resource(resource).
		SetHeader("Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").DoRaw(context.WithoutCancel(t.Context())))(t)
	var shown metav1.Table
	must.Succeed(t, json.Unmarshal(raw, &shown))
	slices.SortFunc(shown.Rows, func(a, b metav1.TableRow) int { return strings.Compare(text(t, a.Cells[0]), text(t, b.Cells[0])) })
	return shown
}
