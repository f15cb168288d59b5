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

package machine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/internal/reconcile"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/world"
)

const (
	atARecord = 2 * time.Second
	atANode   = 5 * time.Second
	// anyDelay accepts each positive delay, as what is left of a backoff.
	anyDelay = -time.Second
)

// waiting tests what comes before the container.
func waiting() map[string]reconcileTest {
	return map[string]reconcileTest{
		"InfrastructureNotProvisioned": {
			reason: "Without a network there is no place for a container.",
			args: args{
				options: []builders.Option{func(o *builders.Objects) {
					o.Cluster.Status.Initialization = clusterv1.ClusterInitializationStatus{}
				}},
			},
			want: want{containerReady: "False/" + infrav1.WaitingForInfrastructureReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, message: "Cluster's infrastructure"},
		},
		"NoContainerCluster": {
			reason: "A Cluster whose ContainerCluster is not there yet has no identity.",
			args:   args{options: []builders.Option{func(o *builders.Objects) { o.ContainerCluster = nil }}},
			want:   want{containerReady: "False/" + infrav1.WaitingForInfrastructureReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, message: "ContainerCluster"},
		},
		"NoOwnerID": {
			reason: "Nothing is created that could not be recognized again, as with an externally managed ContainerCluster.",
			args: args{
				options: []builders.Option{func(o *builders.Objects) {
					o.ContainerCluster.Annotations = map[string]string{clusterv1.ManagedByAnnotation: "another-controller"}
					o.ContainerCluster.Spec.OwnerID = ""
				}},
			},
			want: want{containerReady: "False/" + infrav1.WaitingForInfrastructureReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, message: "spec.ownerID"},
		},
		"OtherInfrastructure": {
			reason: "A Cluster with infrastructure of another kind has no network of ours.",
			args: args{
				options: []builders.Option{func(o *builders.Objects) {
					o.Cluster.Spec.InfrastructureRef.Kind = "OtherCluster"
				}},
			},
			want: want{containerReady: "False/" + infrav1.WaitingForInfrastructureReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, message: "ContainerCluster"},
		},
		"NoDataSecretName": {
			reason: "The bootstrap provider has not written its data.",
			args:   args{options: []builders.Option{func(o *builders.Objects) { o.Machine.Spec.Bootstrap.DataSecretName = nil }}},
			want:   want{containerReady: "False/" + infrav1.WaitingForBootstrapDataReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, message: "bootstrap provider"},
		},
		"NoDataSecret": {
			reason: "The Secret that is named may come later than its name.",
			args:   args{options: []builders.Option{func(o *builders.Objects) { o.Secret = nil }}},
			want:   want{containerReady: "False/" + infrav1.WaitingForBootstrapDataReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, message: `"m1-data"`, requeueAfter: reconcile.UserInterval},
		},
		"ImageBeingPulled": {
			reason: "A pull takes minutes and does not hold up the reconcile.",
			args:   args{setup: func(_ *testing.T, w *world.World) { w.Engine.RemoveImage(builders.NodeImage) }},
			want:   want{containerReady: "False/" + infrav1.ImagePullingReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, message: builders.NodeImage, requeueAfter: reconcile.PullInterval},
		},
		"RegistryUnreachable": {
			reason: "An image that cannot be had is named, with what to do.",
			args:   args{setup: pullFails},
			want:   want{containerReady: "False/" + infrav1.ImagePullFailedReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, message: "load the image into the engine", requeueAfter: reconcile.PullInterval},
			check:  world.BySameManager,
		},
	}
}

// pullFails lets one pull of the node image end without it.
func pullFails(t *testing.T, w *world.World) {
	t.Helper()
	w.Engine.RemoveImage(builders.NodeImage)
	w.Engine.OnCall(func(call simulatedCall) error {
		if call.Method == "PullImage" {
			return fmt.Errorf("registry does not answer: %w", engine.ErrUnavailable)
		}
		return nil
	})
	go func() { _ = w.Engines.Own().Images.Start(t.Context()) }()
	w.SettleMachine(builders.Machine)
	must.Eventually(t, 10*time.Second, "the pull has failed", func(context.Context) error {
		_, _ = w.ReconcileMachine(builders.Machine)
		object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
		if state, _ := world.State(object, infrav1.ContainerReadyCondition); state == "False/"+infrav1.ImagePullingReason {
			return errors.New(state)
		}
		return nil
	})
}

// publishedPorts tests ports of the host that are chosen, or in use.
func publishedPorts() map[string]reconcileTest {
	mapped := func(hostPort int32) []builders.Option {
		return []builders.Option{func(o *builders.Objects) {
			o.ContainerMachine.Spec.PortMappings = []infrav1.PortMapping{
				{ContainerPort: 30080, HostPort: hostPort}, {ContainerPort: 30053, Protocol: infrav1.PortProtocolUDP, Address: "0.0.0.0"},
			}
		}}
	}
	inUse := want{
		containerReady: "False/" + infrav1.HostPortInUseReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason,
		requeueAfter: reconcile.UserInterval,
	}
	byMachine, byProcess := inUse, inUse
	byMachine.message = "spec.portMappings: host port 127.0.0.1:8080/tcp is published by container other of Machine m9"
	byProcess.requeueAfter = anyDelay
	return map[string]reconcileTest{
		"PortsPublished": {
			reason: "The status has the ports that were chosen.",
			args:   args{options: mapped(0)},
			want:   want{containerReady: runs, bootstrapCompleted: "False/" + infrav1.BootstrappingReason, containers: 1, provisioned: true, requeueAfter: anyDelay},
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				object, _ := world.Get(w, builders.Machine, &infrav1.ContainerMachine{})
				found := must.Get(w.Engine.InspectContainer(t.Context(), container()))(t)
				want := []infrav1.PortMapping{
					{ContainerPort: 30080, HostPort: int32(found.Ports[0].HostPort), Address: "127.0.0.1", Protocol: infrav1.PortProtocolTCP},
					{ContainerPort: 30053, HostPort: int32(found.Ports[1].HostPort), Address: "0.0.0.0", Protocol: infrav1.PortProtocolUDP},
				}
				slices.SortFunc(want, func(a, b infrav1.PortMapping) int { return int(a.ContainerPort - b.ContainerPort) })
				slices.SortFunc(object.Status.PortMappings, func(a, b infrav1.PortMapping) int { return int(a.ContainerPort - b.ContainerPort) })
				if diff := diff(want, object.Status.PortMappings); diff != "" {
					t.Errorf("status.portMappings: -want +got:\n%s", diff)
				}
			},
		},
		"PortOfAnotherMachine": {
			reason: "Nothing is created for a port that another cluster's machine has, also while that is stopped.",
			args: args{options: mapped(8080), setup: func(t *testing.T, w *world.World) {
				t.Helper()
				other := builders.Owner()
				other.ID = "another"
				labels := other.ContainerLabels(identity.RoleWorker, "m9")
				labels[identity.LabelHostPorts] = "127.0.0.1:8080/tcp"
				must.Get(w.Engine.CreateContainer(t.Context(), engine.Spec{Name: "other", Image: builders.NodeImage, Labels: labels}))(t)
			}},
			want: byMachine,
		},
		"PortOfAProcess": {
			reason: "A port that was asked for is not exchanged.",
			args:   args{options: mapped(8080), setup: func(_ *testing.T, w *world.World) { w.Engine.OccupyHostPort(8080) }},
			want:   byProcess,
		},
	}
}

// invalidInput tests what only a change of the spec can solve.
func invalidInput() map[string]reconcileTest {
	data := func(change func(map[string][]byte)) []builders.Option {
		return []builders.Option{func(o *builders.Objects) { change(o.Secret.Data) }}
	}
	value := func(text string) []builders.Option {
		return data(func(all map[string][]byte) { all["value"] = []byte(text) })
	}
	const invalid = "False/" + infrav1.BootstrapDataInvalidReason
	return map[string]reconcileTest{
		"DataWithoutValue": {
			reason: "The contract says where data is.",
			args:   args{options: data(func(all map[string][]byte) { delete(all, "value") })},
			want:   want{containerReady: invalid, bootstrapCompleted: invalid, message: `no key "value"`, requeueAfter: reconcile.UserInterval},
		},
		"DataOfUnknownFormat": {
			reason: "Formats that are read are named.",
			args:   args{options: data(func(all map[string][]byte) { all["format"] = []byte("talos") })},
			want:   want{containerReady: invalid, bootstrapCompleted: invalid, message: "use cloud-config or ignition", requeueAfter: reconcile.UserInterval},
		},
		"IgnitionOfAnotherVersion": {
			reason: "Of Ignition the version is read that the kubeadm bootstrap provider writes.",
			args: args{
				options: data(func(all map[string][]byte) {
					all["format"], all["value"] = []byte("ignition"), []byte(`{"ignition": {"version": "3.4.0"}}`)
				}),
			},
			want: want{containerReady: invalid, bootstrapCompleted: invalid, message: `ignition.version "3.4.0" (use 2.3.0`, requeueAfter: reconcile.UserInterval},
		},
		"IgnitionFromElsewhere": {
			reason: "What Ignition would fetch is named by its field, with what to do, and without its URL.",
			args: args{
				options: data(func(all map[string][]byte) {
					all["format"], all["value"] = []byte("ignition"), []byte(`{"ignition": {"version": "2.3.0"}, "storage": {"files": [
					{"filesystem": "root", "path": "/a", "contents": {"source": "https://`+builders.SecretWord+`@example.com"}}]}}`)
				}),
			},
			want: want{
				containerReady: invalid, bootstrapCompleted: invalid,
				message: "storage.files[0].contents.source https: (remote files are not supported; use a data: URL)", requeueAfter: reconcile.UserInterval,
			},
		},
		"DataOfBrokenYAML": {
			reason: "Broken data is refused, and not repeated where users read it.",
			args:   args{options: value("#cloud-config\nwrite_files: [ " + builders.SecretWord + "\n  }")},
			want:   want{containerReady: invalid, bootstrapCompleted: invalid, message: "line", requeueAfter: reconcile.UserInterval},
		},
		"DataWithUnsupportedModule": {
			reason: "What cannot be done in a container is named, not left out.",
			args:   args{options: value("#cloud-config\nntp:\n  enabled: true\n")},
			want:   want{containerReady: invalid, bootstrapCompleted: invalid, message: "ntp", requeueAfter: reconcile.UserInterval},
		},
		"VersionUnsupported": {
			reason: "No image is known for a version that is too old.",
			args: args{
				options: []builders.Option{func(o *builders.Objects) {
					o.Machine.Spec.Version = "v1.28.0"
					o.ContainerMachine.Spec.Image = ""
				}},
			},
			want: want{
				containerReady: "False/" + infrav1.VersionUnsupportedReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason,
				message: `Kubernetes version "v1.28.0" is older than v1.34, the oldest supported version; known versions: v1.37.2, v1.36.4, v1.36.3, `,
			},
		},
		"VersionWithoutImage": {
			reason: "Nor is one known for a version that has not been published.",
			args: args{
				options: []builders.Option{func(o *builders.Objects) {
					o.Machine.Spec.Version = "v1.36.99"
					o.ContainerMachine.Spec.Image = ""
				}},
			},
			want: want{containerReady: "False/" + infrav1.VersionUnsupportedReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, message: "set spec.image"},
		},
		"MountSourceMissing": {
			reason: "The path that does not exist is named, with what to do.",
			args: args{
				options: []builders.Option{func(o *builders.Objects) {
					o.ContainerMachine.Spec.ExtraMounts = []infrav1.Mount{{ContainerPath: "/data", HostPath: "/srv/none", ReadOnly: ptr.To(true)}}
				}},
				setup: func(_ *testing.T, w *world.World) { w.Engine.RemoveHostPath("/srv/none") },
			},
			want: want{containerReady: "False/" + infrav1.ContainerFailedReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, message: `"/srv/none" does not exist: invalid; create it on the engine's host`, requeueAfter: anyDelay},
		},
		"DeviceMissing": {
			reason: "So is a device that does not exist.",
			args: args{
				options: []builders.Option{func(o *builders.Objects) {
					o.ContainerMachine.Spec.Devices = []infrav1.Device{{Path: "/dev/none"}}
				}},
				setup: func(_ *testing.T, w *world.World) { w.Engine.RemoveHostPath("/dev/none") },
			},
			want: want{containerReady: "False/" + infrav1.ContainerFailedReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, message: `"/dev/none" does not exist: invalid; create it on the engine's host`, requeueAfter: anyDelay},
		},
		"DeviceUnknown": {
			reason: "The device that the engine does not know is named, with what it needs, and no container stays.",
			args: args{options: []builders.Option{func(o *builders.Objects) {
				o.ContainerMachine.Spec.Devices = []infrav1.Device{{Name: "vendor.com/class=none"}}
			}}},
			want: want{containerReady: "False/" + infrav1.ContainerFailedReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, message: `"vendor.com/class=none" is not known: invalid; CDI devices require`, requeueAfter: anyDelay},
		},
		"MoreMemoryThanTheHost": {
			reason: "The Node would offer what the host does not have.",
			args: args{options: []builders.Option{func(o *builders.Objects) {
				o.ContainerMachine.Spec.Resources.Memory = ptr.To(resource.MustParse("64Gi"))
			}}},
			want: want{
				containerReady: "False/" + infrav1.ContainerFailedReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason,
				message: "spec.resources.memory is 64Gi, but the engine's host has only 32Gi; use less, or omit it", requeueAfter: reconcile.UserInterval,
			},
		},
		"MountHidesBootstrap": {
			reason: "Where no webhook is asked, a mount that would show the bootstrap's secrets on the host is refused all the same.",
			args: args{
				options: []builders.Option{func(o *builders.Objects) {
					o.ContainerMachine.Spec.ExtraMounts = []infrav1.Mount{{ContainerPath: "/opt", HostPath: "/srv"}, {ContainerPath: "/var", HostPath: "/srv"}}
				}},
			},
			want: want{
				containerReady: "False/" + infrav1.ContainerFailedReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason,
				message: "/opt/cluster-api-bootstrap, which the node uses: bootstrap files are there; use another path, such as /mnt/data; " +
					`and mount 1: path "/var"`,
			},
		},
		"FailureDomainUnknown": {
			reason: "A failure domain that the Cluster does not have is most likely misspelt.",
			args: args{
				options: []builders.Option{func(o *builders.Objects) {
					o.Cluster.Status.FailureDomains = []clusterv1.FailureDomain{{Name: "zone-b"}, {Name: "zone-c"}}
				}},
			},
			want: want{
				containerReady: "False/" + infrav1.ContainerFailedReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, requeueAfter: reconcile.UserInterval,
				message: `failure domain "zone-a" of the Machine is not a failure domain of the Cluster (zone-b, zone-c); use one of these`,
			},
		},
		"FailureDomainNoLabel": {
			reason: "A kubelet with such a label does not start.",
			args:   args{options: []builders.Option{func(o *builders.Objects) { o.Machine.Spec.FailureDomain = "rack 1" }}},
			want: want{
				containerReady: "False/" + infrav1.ContainerFailedReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, requeueAfter: reconcile.UserInterval,
				message: `"rack 1" of the Machine is not a valid label value`,
			},
		},
		"SubnetExhausted": {
			reason: "A full network is named with what to do.",
			args: args{
				options: []builders.Option{func(o *builders.Objects) {
					o.ContainerCluster.Spec.Network.Name = "small"
				}},
				setup: fullNetwork,
			},
			want: want{containerReady: "False/" + infrav1.SubnetExhaustedReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, message: "larger subnet", requeueAfter: anyDelay},
		},
		"NetworkMissing": {
			reason: "A removed network is reported; the cluster controller recreates it.",
			args: args{
				setup: func(t *testing.T, w *world.World) {
					t.Helper()
					must.Succeed(t, w.Engine.RemoveNetwork(t.Context(), "capcon"))
				},
			},
			want: want{containerReady: "False/" + infrav1.ContainerFailedReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, message: "capcon", err: true},
		},
		"NameTaken": {
			reason: "A container of our name that is not ours is left alone, and named.",
			args: args{
				setup: func(t *testing.T, w *world.World) {
					t.Helper()
					must.Get(w.Engine.CreateContainer(t.Context(), engine.Spec{Name: container(), Image: builders.NodeImage}))(t)
				},
			},
			want: want{containerReady: "False/" + infrav1.ContainerNotOwnedReason, bootstrapCompleted: "absent", message: "it has no owner labels", requeueAfter: reconcile.UserInterval},
			assert: func(t *testing.T, w *world.World) {
				t.Helper()
				if _, err := w.Engine.InspectContainer(t.Context(), container()); err != nil {
					t.Errorf("the foreign container: %v", err)
				}
			},
		},
		"OwnersContainer": {
			reason: "A container of another owner is never adopted; the message says whose it is.",
			args: args{
				setup: func(t *testing.T, w *world.World) {
					t.Helper()
					other := builders.Owner()
					other.ID = "another-owner"
					must.Get(w.Engine.CreateContainer(t.Context(), engine.Spec{
						Name: container(), Image: builders.NodeImage, Labels: other.ContainerLabels("worker", builders.Machine),
					}))(t)
				},
			},
			want: want{containerReady: "False/" + infrav1.ContainerNotOwnedReason, bootstrapCompleted: "absent", message: "owner ID another-owner", requeueAfter: reconcile.UserInterval},
		},
		"ProviderIDOfAnotherProvider": {
			reason: "A provider ID of another provider names no container.",
			args: args{
				options: []builders.Option{func(o *builders.Objects) {
					o.ContainerMachine.Spec.ProviderID = "kind://docker/c1/m1"
				}},
			},
			want: want{containerReady: "False/" + infrav1.ContainerFailedReason, bootstrapCompleted: "False/" + infrav1.WaitingForContainerReason, message: "kind://docker/c1/m1"},
		},
	}
}
