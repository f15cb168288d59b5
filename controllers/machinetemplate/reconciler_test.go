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

package machinetemplate

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func template() *infrav1.ContainerMachineTemplate {
	return &infrav1.ContainerMachineTemplate{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "workers"}}
}

func complete() infrav1.ContainerMachineTemplateStatus {
	return infrav1.ContainerMachineTemplateStatus{
		Capacity: corev1.ResourceList{
			corev1.ResourceCPU: resource.MustParse("8"), corev1.ResourceMemory: resource.MustParse("16Gi"),
		},
		NodeInfo: infrav1.NodeInfo{Architecture: "arm64", OperatingSystem: "linux"},
	}
}

func host() engine.Info {
	return engine.Info{CPUs: 8, MemoryBytes: 16 << 30, Architecture: "arm64"}
}

// only one host is asked.
func only(host Host) func(*infrav1.ContainerCluster) (Host, error) {
	return func(*infrav1.ContainerCluster) (Host, error) { return host, nil }
}

func TestReconcile(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*infrav1.ContainerMachineTemplate)
		info   engine.Info
		want   infrav1.ContainerMachineTemplateStatus
		writes int
	}{
		"new": {
			reason: "A template's status has what its nodes would have.",
			info:   host(), want: complete(), writes: 1,
		},
		"same": {
			reason: "What is right is not written again.",
			change: func(template *infrav1.ContainerMachineTemplate) { template.Status = complete() },
			info:   host(), want: complete(), writes: 0,
		},
		"other host": {
			reason: "The objects were moved, or the machine was given more.",
			change: func(template *infrav1.ContainerMachineTemplate) {
				template.Status = complete()
				template.Status.Capacity[corev1.ResourceCPU] = resource.MustParse("2")
			},
			info: host(), want: complete(), writes: 1,
		},
		"unknown architecture": {
			reason: "The contract has a closed list; autoscalers take their default for what is not set.",
			info:   engine.Info{CPUs: 8, MemoryBytes: 16 << 30, Architecture: "riscv64"},
			want: infrav1.ContainerMachineTemplateStatus{
				Capacity: complete().Capacity, NodeInfo: infrav1.NodeInfo{OperatingSystem: "linux"},
			},
			writes: 1,
		},
		"RoleOfWorkers": {
			reason: "Nodes have what the cluster limits their role to, and what their machines name takes precedence.",
			change: func(template *infrav1.ContainerMachineTemplate) {
				template.Labels = map[string]string{clusterv1.ClusterNameLabel: "sized"}
				template.Spec.Template.Spec.Resources.CPU = ptr.To(resource.MustParse("3"))
			},
			info: host(), want: sized("3", "4Gi"), writes: 1,
		},
		"RoleOfControlPlane": {
			reason: "A template of a ClusterClass that is not of a MachineDeployment is the control plane's.",
			change: func(template *infrav1.ContainerMachineTemplate) {
				template.Labels = map[string]string{clusterv1.ClusterNameLabel: "sized", clusterv1.ClusterTopologyOwnedLabel: ""}
			},
			info: host(), want: sized("2", "16Gi"), writes: 1,
		},
		"paused": {
			reason: "It is being moved.",
			change: func(template *infrav1.ContainerMachineTemplate) {
				template.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
			},
			info: host(),
		},
		"ClusterPaused": {
			reason: "It goes with its Cluster, which owns it.",
			change: func(template *infrav1.ContainerMachineTemplate) {
				template.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "paused"}}
			},
			info: host(),
		},
		"LabeledClusterPaused": {
			reason: "Of a topology, before it has an owner.",
			change: func(template *infrav1.ContainerMachineTemplate) {
				template.Labels = map[string]string{clusterv1.ClusterNameLabel: "paused"}
			},
			info: host(),
		},
		"ClusterGone": {
			reason: "No Cluster pauses it any more.",
			change: func(template *infrav1.ContainerMachineTemplate) {
				template.Labels = map[string]string{clusterv1.ClusterNameLabel: "gone"}
			},
			info: host(), want: complete(), writes: 1,
		},
		"OfClass": {
			reason: "It is no Cluster's.",
			change: func(template *infrav1.ContainerMachineTemplate) {
				template.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "ClusterClass", Name: "paused"}}
			},
			info: host(), want: complete(), writes: 1,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			object := template()
			if tc.change != nil {
				tc.change(object)
			}
			writes := 0
			api := fake.NewClientBuilder().WithScheme(builders.Scheme(t)).WithObjects(append(sizedCluster(), object, pausedCluster())...).WithStatusSubresource(object).
				WithInterceptorFuncs(interceptor.Funcs{
					SubResourcePatch: func(
						ctx context.Context, c client.Client, subresource string, object client.Object, patch client.Patch, options ...client.SubResourcePatchOption,
					) error {
						writes++
						return c.SubResource(subresource).Patch(ctx, object, patch, options...)
					},
				}).Build()
			r := &Reconciler{Client: api, Hosts: only(simulated.New(simulated.WithInfo(tc.info)))}
			for range 2 {
				if result, err := r.Reconcile(t.Context(), request(object)); err != nil || !result.IsZero() {
					t.Fatalf("%s Got %+v, %v", tc.reason, result, err)
				}
			}
			must.Succeed(t, api.Get(t.Context(), client.ObjectKeyFromObject(object), object))
			if diff := cmp.Diff(tc.want, object.Status); diff != "" {
				t.Errorf("%s Status (-want +got):\n%s", tc.reason, diff)
			}
			if writes != tc.writes {
				t.Errorf("%s Two reconciles wrote %d times, want %d", tc.reason, writes, tc.writes)
			}
		})
	}
}

// A Cluster that is resumed wakes its templates.
func TestClusterToTemplates(t *testing.T) {
	t.Parallel()
	owned, labeled, other := template(), template(), template()
	owned.Name, labeled.Name = "owned", "labeled"
	owned.OwnerReferences = []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "paused"}}
	labeled.Labels = map[string]string{clusterv1.ClusterNameLabel: "paused"}
	r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(builders.Scheme(t)).WithObjects(owned, labeled, other).Build()}
	if diff := cmp.Diff([]ctrl.Request{request(labeled), request(owned)}, r.clusterToTemplates(t.Context(), pausedCluster())); diff != "" {
		t.Errorf("Requests (-want +got):\n%s", diff)
	}
}

// TestInfrastructureToTemplates: other resources of a role are other capacities.
func TestInfrastructureToTemplates(t *testing.T) {
	t.Parallel()
	labeled := template()
	labeled.Labels = map[string]string{clusterv1.ClusterNameLabel: "sized"}
	r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(builders.Scheme(t)).WithObjects(labeled).Build()}
	if diff := cmp.Diff([]ctrl.Request{request(labeled)}, r.infrastructureToTemplates(t.Context(), sizedCluster()[1])); diff != "" {
		t.Errorf("Requests (-want +got):\n%s", diff)
	}
}

// sizedCluster has resources for both roles.
func sizedCluster() []client.Object {
	infrastructure := &infrav1.ContainerCluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: "default", Name: "sized-abc", Labels: map[string]string{clusterv1.ClusterNameLabel: "sized"},
	}}
	infrastructure.Spec.Resources.ControlPlane.CPU = ptr.To(resource.MustParse("2"))
	infrastructure.Spec.Resources.Workers.CPU = ptr.To(resource.MustParse("1"))
	infrastructure.Spec.Resources.Workers.Memory = ptr.To(resource.MustParse("4Gi"))
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "sized"}}
	cluster.Spec.InfrastructureRef = clusterv1.ContractVersionedObjectReference{
		APIGroup: infrav1.GroupVersion.Group, Kind: "ContainerCluster", Name: infrastructure.Name,
	}
	return []client.Object{cluster, infrastructure}
}

func sized(cpu, memory string) infrav1.ContainerMachineTemplateStatus {
	status := complete()
	status.Capacity = corev1.ResourceList{corev1.ResourceCPU: resource.MustParse(cpu), corev1.ResourceMemory: resource.MustParse(memory)}
	return status
}

func pausedCluster() *clusterv1.Cluster {
	return &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "paused"}, Spec: clusterv1.ClusterSpec{Paused: ptr.To(true)}}
}

// An engine that does not answer is asked again, and what it said before
// stays.
func TestReconcileWithoutEngine(t *testing.T) {
	t.Parallel()
	object := template()
	object.Status = complete()
	api := fake.NewClientBuilder().WithScheme(builders.Scheme(t)).WithObjects(object).WithStatusSubresource(object).Build()
	eng := simulated.New()
	eng.Down()
	r := &Reconciler{Client: api, Hosts: only(eng)}
	if _, err := r.Reconcile(t.Context(), request(object)); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("Want ErrUnavailable, got %v", err)
	}
	must.Succeed(t, api.Get(t.Context(), client.ObjectKeyFromObject(object), object))
	if diff := cmp.Diff(complete(), object.Status); diff != "" {
		t.Errorf("Status (-want +got):\n%s", diff)
	}
}

func TestReconcileGone(t *testing.T) {
	t.Parallel()
	r := &Reconciler{Client: fake.NewClientBuilder().WithScheme(builders.Scheme(t)).Build(), Hosts: only(simulated.New())}
	if _, err := r.Reconcile(t.Context(), request(template())); err != nil {
		t.Error(err)
	}
}

// TestReconcileNotSelected: the host is not observed for a template of another manager.
func TestReconcileNotSelected(t *testing.T) {
	t.Parallel()
	eng := simulated.New()
	eng.Down()
	api := fake.NewClientBuilder().WithScheme(builders.Scheme(t)).WithObjects(template()).Build()
	r := &Reconciler{Client: api, Hosts: only(eng), WatchFilterValue: "other"}
	must.Get(r.Reconcile(t.Context(), request(template())))(t)
}

func request(object client.Object) ctrl.Request {
	return ctrl.Request{NamespacedName: client.ObjectKeyFromObject(object)}
}
