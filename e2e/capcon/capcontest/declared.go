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

package capcontest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"text/template"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/templates"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// The images that "make images-load" gives an engine.
const (
	nodeRepository    = "localhost/capcon/node"
	NodeImage         = nodeRepository + ":" + node.DefaultVersion
	LoadBalancerImage = "localhost/capcon/haproxy:2.6"
	PlaneImage        = "localhost/capcon/plane:dev"
)

const podSubnet = "10.244.0.0/16"

// Declared is a cluster as a user declares it object by object, for what
// Program has no flag for. Tests change the objects before they create them.
type Declared struct {
	Name    string
	Program *Program
	Engine  engine.Engine
	API     client.Client

	Cluster          *clusterv1.Cluster
	ContainerCluster *infrav1.ContainerCluster
	ControlPlane     *controlplanev1.KubeadmControlPlane
	// Machines and workers are the templates of control planes and workers.
	Machines, Workers *infrav1.ContainerMachineTemplate
	workerConfig      *bootstrapv1.KubeadmConfigTemplate
	// Deployments of workers; none where there are no workers.
	Deployments []*clusterv1.MachineDeployment
}

// Declare returns a cluster of one control plane and one worker, of which
// nothing exists yet, and ensures a management plane. Both are removed with
// the test, unless it failed and KEEP is set.
func Declare(t *testing.T, eng engine.Engine, name string) *Declared {
	t.Helper()
	program := Build(t, name)
	program.DownBeforeAndAfter()
	if _, err := plane.New(eng, plane.Options{}).Ensure(t.Context(), PlaneImage, nil); err != nil {
		t.Fatalf("start the management plane: %v", err)
	}
	d := Describe(name)
	d.Program, d.Engine, d.API = program, eng, Management(t, program)
	return d
}

// Describe returns the objects of a cluster of one control plane and one worker.
func Describe(name string) *Declared {
	d := &Declared{Name: name}
	d.Cluster = &clusterv1.Cluster{ObjectMeta: d.Meta(name), Spec: clusterv1.ClusterSpec{
		ClusterNetwork: clusterv1.ClusterNetwork{
			Pods:     clusterv1.NetworkRanges{CIDRBlocks: []string{podSubnet}},
			Services: clusterv1.NetworkRanges{CIDRBlocks: []string{"10.128.0.0/12"}},
		},
		InfrastructureRef: reference(infrav1.GroupVersion.Group, "ContainerCluster", name),
		ControlPlaneRef:   reference(controlplanev1.GroupVersion.Group, "KubeadmControlPlane", name),
	}}
	d.ContainerCluster = &infrav1.ContainerCluster{ObjectMeta: d.Meta(name), Spec: infrav1.ContainerClusterSpec{
		LoadBalancer: infrav1.LoadBalancer{Image: LoadBalancerImage},
	}}
	d.Machines, d.Workers = d.template(name+"-control-plane"), d.template(name+"-worker")
	registration := bootstrapv1.NodeRegistrationOptions{CRISocket: "unix:///var/run/containerd/containerd.sock"}
	d.ControlPlane = &controlplanev1.KubeadmControlPlane{ObjectMeta: d.Meta(name), Spec: controlplanev1.KubeadmControlPlaneSpec{
		Replicas: ptr.To[int32](1), Version: node.DefaultVersion,
		MachineTemplate: controlplanev1.KubeadmControlPlaneMachineTemplate{Spec: controlplanev1.KubeadmControlPlaneMachineTemplateSpec{
			InfrastructureRef: reference(infrav1.GroupVersion.Group, "ContainerMachineTemplate", d.Machines.Name),
		}},
		KubeadmConfigSpec: bootstrapv1.KubeadmConfigSpec{
			InitConfiguration: bootstrapv1.InitConfiguration{NodeRegistration: registration},
			JoinConfiguration: bootstrapv1.JoinConfiguration{NodeRegistration: registration},
		},
	}}
	d.workerConfig = &bootstrapv1.KubeadmConfigTemplate{ObjectMeta: d.Meta(name + "-worker")}
	d.workerConfig.Spec.Template.Spec.JoinConfiguration.NodeRegistration = registration
	d.Deployments = []*clusterv1.MachineDeployment{d.Deployment(name+"-worker", 1)}
	return d
}

// Meta of an object of the cluster.
func (d *Declared) Meta(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: metav1.NamespaceDefault, Name: name, Labels: map[string]string{clusterv1.ClusterNameLabel: d.Name},
	}
}

// Key of the Cluster.
func (d *Declared) Key() client.ObjectKey { return client.ObjectKeyFromObject(d.Cluster) }

func reference(group, kind, name string) clusterv1.ContractVersionedObjectReference {
	return clusterv1.ContractVersionedObjectReference{APIGroup: group, Kind: kind, Name: name}
}

func (d *Declared) template(name string) *infrav1.ContainerMachineTemplate {
	made := &infrav1.ContainerMachineTemplate{ObjectMeta: d.Meta(name)}
	made.Spec.Template.Spec.Image = NodeImage
	return made
}

// Deployment of workers, all made of the one template.
func (d *Declared) Deployment(name string, replicas int32) *clusterv1.MachineDeployment {
	return &clusterv1.MachineDeployment{ObjectMeta: d.Meta(name), Spec: clusterv1.MachineDeploymentSpec{
		ClusterName: d.Name, Replicas: ptr.To(replicas),
		Template: clusterv1.MachineTemplateSpec{Spec: clusterv1.MachineSpec{
			ClusterName: d.Name, Version: node.DefaultVersion,
			Bootstrap: clusterv1.Bootstrap{
				ConfigRef: reference(bootstrapv1.GroupVersion.Group, "KubeadmConfigTemplate", d.workerConfig.Name),
			},
			InfrastructureRef: reference(infrav1.GroupVersion.Group, "ContainerMachineTemplate", d.Workers.Name),
		}},
	}}
}

// Create all objects, the Cluster first: those that it does not refer to go
// with it as well.
func (d *Declared) Create(t *testing.T) {
	t.Helper()
	d.Apply(t, d.Cluster)
	owner := metav1.OwnerReference{
		APIVersion: clusterv1.GroupVersion.String(), Kind: clusterv1.ClusterKind, Name: d.Cluster.Name, UID: d.Cluster.UID,
	}
	others := []client.Object{d.ContainerCluster, d.Machines, d.ControlPlane, d.Workers, d.workerConfig}
	others = append(others, d.podNetwork(t)...)
	for _, deployment := range d.Deployments {
		others = append(others, deployment)
	}
	for _, object := range others {
		object.SetOwnerReferences([]metav1.OwnerReference{owner})
		d.Apply(t, object)
	}
}

// Apply creates one object. The plane's webhooks may need a moment after its
// start.
func (d *Declared) Apply(t *testing.T, object client.Object) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%T %s is created", object, object.GetName()), func(ctx context.Context) (string, error) {
		err := d.API.Create(ctx, object)
		if apierrors.IsAlreadyExists(err) {
			err = d.API.Get(ctx, client.ObjectKeyFromObject(object), object)
		}
		return "", err
	})
}

// podNetwork puts the manifest whose images are in the node image into the
// Cluster.
func (d *Declared) podNetwork(t *testing.T) []client.Object {
	t.Helper()
	parsed := must.Get(template.New("cni").Option("missingkey=error").Parse(templates.Flannel))(t)
	var manifest strings.Builder
	must.Succeed(t, parsed.Execute(&manifest, struct{ PodSubnet string }{podSubnet}))
	name := d.Name + "-cni"
	return []client.Object{
		&corev1.ConfigMap{ObjectMeta: d.Meta(name), Data: map[string]string{"cni.yaml": manifest.String()}},
		&addonsv1.ClusterResourceSet{ObjectMeta: d.Meta(name), Spec: addonsv1.ClusterResourceSetSpec{
			Strategy:        string(addonsv1.ClusterResourceSetStrategyReconcile),
			ClusterSelector: metav1.LabelSelector{MatchLabels: map[string]string{clusterv1.ClusterNameLabel: d.Name}},
			Resources:       []addonsv1.ResourceRef{{Kind: string(addonsv1.ConfigMapClusterResourceSetResourceKind), Name: name}},
		}},
	}
}

// ComesUp waits until the cluster has so many Machines, each with a Node that
// is ready, and connects to it. Machines come one after the other, and a busy
// host takes its time for each.
func (d *Declared) ComesUp(t *testing.T, want int) kubernetes.Interface {
	t.Helper()
	start := time.Now()
	d.MachinesHaveNodes(t, want)
	cluster := d.Program.At(t).ConnectCluster()
	NodesReady(t, cluster, want)
	MachinesReady(t, d.Program.At(t))
	t.Logf("%d Nodes ready after %s", want, time.Since(start).Round(100*time.Millisecond))
	return cluster
}

// MachinesHaveNodes waits until there are exactly so many Machines, each with a Node
// that is ready.
func (d *Declared) MachinesHaveNodes(t *testing.T, want int) {
	t.Helper()
	const forAll = 15 * time.Minute
	EventuallyWithin(t, forAll, fmt.Sprintf("%d Machines with Nodes", want), func(ctx context.Context) (string, error) {
		found := &clusterv1.MachineList{}
		if err := d.API.List(ctx, found, client.MatchingLabels{clusterv1.ClusterNameLabel: d.Name}); err != nil {
			return "", err
		}
		ready := 0
		for i := range found.Items {
			if node := conditions.Get(&found.Items[i], clusterv1.MachineNodeReadyCondition); node != nil && node.Status == metav1.ConditionTrue {
				ready++
			}
		}
		if ready == want && len(found.Items) == want {
			return "", nil
		}
		return fmt.Sprintf("%d of %d Machines have one", ready, len(found.Items)), nil
	})
}

// Delete the Cluster and wait until all is gone that it has, and say how long
// that took.
func (d *Declared) Delete(t *testing.T) {
	t.Helper()
	start := time.Now()
	Eventually(t, "the Cluster is deleted", func(ctx context.Context) (string, error) {
		return "", client.IgnoreNotFound(d.API.Delete(ctx, d.Cluster))
	})
	Eventually(t, "the Cluster is gone", func(ctx context.Context) (string, error) {
		for _, object := range []client.Object{&clusterv1.Cluster{}, &infrav1.ContainerCluster{}} {
			if err := d.API.Get(ctx, d.Key(), object); !apierrors.IsNotFound(err) {
				return fmt.Sprintf("%T is there (%v)", object, err), nil
			}
		}
		return "", nil
	})
	if left := NodeContainers(t, d.Engine, d.Name); len(left) > 0 {
		t.Errorf("containers are left: %v", IDs(left))
	}
	t.Logf("deleted after %s", time.Since(start).Round(100*time.Millisecond))
}
