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

package management

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/update"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// The class of the documentation is there, with templates that no other class has, and one that
// exists is not changed: that would replace the Machines of its clusters.
func TestEnsureNamedClass(t *testing.T) {
	t.Parallel()
	c := fake.NewClientBuilder().WithScheme(must.Get(Scheme())(t)).Build()
	key := client.ObjectKey{Namespace: "default", Name: "container"}
	must.Succeed(t, EnsureNamedClass(t.Context(), c, "default"))
	class := &clusterv1.ClusterClass{}
	must.Succeed(t, c.Get(t.Context(), key, class))
	template := class.Spec.Infrastructure.TemplateRef.Name
	must.Succeed(t, c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: template}, &infrav1.ContainerClusterTemplate{}))

	// An earlier release had other content.
	class.Spec.Variables = nil
	must.Succeed(t, c.Update(t.Context(), class))
	must.Succeed(t, EnsureNamedClass(t.Context(), c, "default"))
	after := &clusterv1.ClusterClass{}
	must.Succeed(t, c.Get(t.Context(), key, after))
	if diff := cmp.Diff(class, after); diff != "" {
		t.Errorf("the class has been changed (-before +after):\n%s", diff)
	}
}

// The ClusterResourceSet owns the ConfigMap before the Cluster exists: its controller, which
// would replace the list of owners, has nothing to add.
func TestCreateOwnsPodNetwork(t *testing.T) {
	t.Parallel()
	meta := metav1.ObjectMeta{Namespace: "default", Name: "demo-cni", Labels: map[string]string{clusterv1.ClusterNameLabel: "demo"}}
	rendered := objects.Rendered{
		Owned: []client.Object{
			&corev1.ConfigMap{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: meta},
			&addonsv1.ClusterResourceSet{TypeMeta: metav1.TypeMeta{APIVersion: addonsv1.GroupVersion.String(), Kind: "ClusterResourceSet"}, ObjectMeta: meta},
		},
		Cluster: &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo"}},
	}
	owners := func(c client.Client) (kinds []string) {
		manifest := &corev1.ConfigMap{}
		must.Succeed(t, c.Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "demo-cni"}, manifest))
		for _, owner := range manifest.OwnerReferences {
			kinds = append(kinds, owner.Kind)
		}
		return kinds
	}
	var early []string
	c := fake.NewClientBuilder().WithScheme(must.Get(Scheme())(t)).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(ctx context.Context, c client.WithWatch, object client.Object, options ...client.CreateOption) error {
			early = owners(c)
			return c.Create(ctx, object, options...)
		},
	}).Build()
	must.Succeed(t, Create(t.Context(), c, rendered))
	if diff := cmp.Diff([]string{"ClusterResourceSet"}, early); diff != "" {
		t.Errorf("owners when the Cluster is created (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"ClusterResourceSet", "Cluster"}, owners(c)); diff != "" {
		t.Errorf("owners in the end (-want +got):\n%s", diff)
	}
}

// An update that may have been accepted keeps the annotations of the Machines that it deletes.
func TestUpdateAnnotatesDeletedMachines(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"accepted":    {"Cluster API deletes these.", nil, true},
		"refused":     {"Nothing is deleted.", apierrors.NewConflict(schema.GroupResource{}, "demo", errors.New("changed")), false},
		"no response": {"It may have been accepted.", errors.New("connection reset"), true},
		"timeout":     {"It may have been accepted.", apierrors.NewTimeoutError("slow", 1), true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo", ResourceVersion: "1"}, Spec: clusterv1.ClusterSpec{
				Topology: clusterv1.Topology{ClassRef: clusterv1.ClusterClassRef{Name: "c"}, Workers: clusterv1.WorkersTopology{
					MachineDeployments: []clusterv1.MachineDeploymentTopology{{Name: "worker", Replicas: ptr.To[int32](1)}},
				}},
			}}
			worker := machine("a")
			worker.Namespace, worker.Labels[clusterv1.ClusterTopologyMachineDeploymentNameLabel] = "default", "worker"
			api := fake.NewClientBuilder().WithScheme(must.Get(Scheme())(t)).WithObjects(cluster, &worker).
				WithInterceptorFuncs(interceptor.Funcs{
					Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
						if _, isCluster := o.(*clusterv1.Cluster); isCluster {
							return tc.err
						}
						return c.Patch(ctx, o, patch, options...)
					},
				}).Build()
			present := update.Present{Cluster: cluster, Machines: []clusterv1.Machine{worker}}
			plan := must.Get(update.Compute(present, input.Request{Workers: ptr.To(0)}, update.Chosen{}))(t).WithVolumes(nil, nil)
			if err := Update(t.Context(), api, "default", plan); !errors.Is(err, tc.err) {
				t.Errorf("%s Got %v", tc.reason, err)
			}
			must.Succeed(t, api.Get(t.Context(), client.ObjectKeyFromObject(&worker), &worker))
			if _, got := worker.Annotations[clusterv1.DeleteMachineAnnotation]; got != tc.want {
				t.Errorf("%s The Machine is annotated: %t", tc.reason, got)
			}
		})
	}
}

func TestLeftovers(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		object client.Object
		// owners are the kinds that own it.
		owners []string
		counts bool
	}{
		"OfTheCluster": {
			reason: "It goes with the Cluster, after it.",
			object: &addonsv1.ClusterResourceSet{}, owners: []string{"Cluster"}, counts: true,
		},
		"OfItsControlPlane": {
			reason: "So does what its parts own.",
			object: &corev1.Secret{}, owners: []string{"KubeadmControlPlane"}, counts: true,
		},
		"OfTheClusterAndASet": {
			reason: "A set owns what capcon installs by it, and the Cluster does too.",
			object: &corev1.ConfigMap{}, owners: []string{"ClusterResourceSet", "Cluster"}, counts: true,
		},
		"OfTheUser": {
			reason: "No controller removes what a user made for the Cluster: waiting for that would never end.",
			object: &corev1.Secret{},
		},
		"InstalledByTheUser": {
			reason: "Nor what the user's own set installs.",
			object: &corev1.ConfigMap{}, owners: []string{"ClusterResourceSet"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			scheme := must.Get(Scheme())(t)
			tc.object.SetNamespace("default")
			tc.object.SetName("it")
			tc.object.SetLabels(map[string]string{clusterv1.ClusterNameLabel: "demo"})
			var owners []metav1.OwnerReference
			for _, kind := range tc.owners {
				owners = append(owners, metav1.OwnerReference{Kind: kind, Name: "demo"})
			}
			tc.object.SetOwnerReferences(owners)
			api := fake.NewClientBuilder().WithScheme(scheme).WithObjects(tc.object).Build()
			left := must.Get(Leftovers(t.Context(), api, "default", "demo"))(t)
			if diff := cmp.Diff(tc.counts, len(left) == 1); diff != "" {
				t.Errorf("%s\nwhether it counts (-want, +got):\n%s%q", tc.reason, diff, left)
			}
		})
	}
}

// A pipeline that tags each build adds names without a limit.
func TestKeptImages(t *testing.T) {
	t.Parallel()
	many := func(from, to int) (names []string) {
		for i := from; i < to; i++ {
			names = append(names, fmt.Sprintf("app:%d", i))
		}
		return names
	}
	for name, tc := range map[string]struct {
		reason         string
		present, added []string
		absent         string
		want           []string
	}{
		"First":    {"The list is empty at first.", nil, []string{"a:1", "b:1", "a:1"}, "", []string{"a:1", "b:1"}},
		"Again":    {"What was loaded last is the newest.", []string{"a:1", "b:1"}, []string{"a:1"}, "", []string{"b:1", "a:1"}},
		"Removed":  {"The engine cannot give it to a node.", []string{"a:1", "b:1"}, []string{"c:1"}, "a:1", []string{"b:1", "c:1"}},
		"TooMany":  {"The oldest leaves.", many(0, maxImages), []string{"a:1"}, "", append(many(1, maxImages), "a:1")},
		"FullGone": {"A name that leaves makes room.", many(0, maxImages), []string{"a:1"}, "app:7", append(slices.Concat(many(0, 7), many(8, maxImages)), "a:1")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := keptImages(tc.present, tc.added, func(name string) bool { return name != tc.absent })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// The API server refuses a list that is longer than the limit of the type.
func TestMaxImagesIsThatOfTheAPI(t *testing.T) {
	t.Parallel()
	types := string(must.Get(os.ReadFile("../../../../api/v1beta2/containercluster_types.go"))(t))
	before, _, _ := strings.Cut(types, "\tImages []string")
	markers := before[strings.LastIndex(before, "\n\n"):]
	if want := fmt.Sprintf("+kubebuilder:validation:MaxItems=%d\n", maxImages); !strings.Contains(markers, want) {
		t.Errorf("the field images does not have %q:\n%s", want, markers)
	}
}

// TestReadExtensions: only those for in-place updates that are for the namespace of the cluster, and none for one on another engine.
func TestReadExtensions(t *testing.T) {
	t.Parallel()
	extension := func(name, hook string, labels map[string]string) *runtimev1.ExtensionConfig {
		config := &runtimev1.ExtensionConfig{ObjectMeta: metav1.ObjectMeta{Name: name}}
		config.Spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: labels}
		config.Status.Handlers = []runtimev1.ExtensionHandler{{Name: "a." + name, RequestHook: runtimev1.GroupVersionHook{Hook: hook}}}
		return config
	}
	own := extension(infrav1.InPlaceUpdatesExtension, "CanUpdateMachineSet", map[string]string{infrav1.InPlaceUpdatesLabel: infrav1.InPlaceUpdatesEnabled})
	other, everywhere := extension("other", "BeforeClusterCreate", nil), extension("everywhere", "CanUpdateMachine", nil)
	enabled := map[string]string{infrav1.InPlaceUpdatesLabel: infrav1.InPlaceUpdatesEnabled}
	for name, tc := range map[string]struct {
		reason     string
		extensions []*runtimev1.ExtensionConfig
		labels     map[string]string
		engine     string
		want       []string
	}{
		"none":           {"The gates are off.", nil, enabled, "", nil},
		"no label":       {"The user has to opt in.", []*runtimev1.ExtensionConfig{own}, nil, "", nil},
		"label":          {"It is for the namespace.", []*runtimev1.ExtensionConfig{own, other}, enabled, "", []string{infrav1.InPlaceUpdatesExtension}},
		"two":            {"Cluster API refuses them.", []*runtimev1.ExtensionConfig{own, everywhere}, enabled, "", []string{infrav1.InPlaceUpdatesExtension, "everywhere"}},
		"another engine": {"Its nodes are replaced.", []*runtimev1.ExtensionConfig{own}, enabled, "build", nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			objects := []client.Object{
				&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "default", Labels: tc.labels}},
				&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo"}},
				&infrav1.ContainerCluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo"}, Spec: infrav1.ContainerClusterSpec{EngineName: tc.engine}},
			}
			for _, config := range tc.extensions {
				objects = append(objects, config.DeepCopy())
			}
			api := fake.NewClientBuilder().WithScheme(must.Get(Scheme())(t)).WithObjects(objects...).Build()
			present := must.Get(Read(t.Context(), api, "default", "demo"))(t)
			if diff := cmp.Diff(tc.want, present.Extensions); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
