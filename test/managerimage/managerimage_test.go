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

// Package managerimage tests the image of the manager.
package managerimage_test

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/enginetest"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/clusterctl"
	"github.com/capi-samples/cluster-api-provider-container/test/env"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	root         = "../.."
	managerImage = "localhost/capcon/manager:dev"
	// becomesReady bounds the start of a manager on a busy host.
	becomesReady = 2 * time.Minute
)

// TestIntegrationManagerImage runs the manager's image as the Deployment of the
// engine's overlay says: its user, its read-only root file system, no
// capability, the engine's socket, and the permissions of its ServiceAccount on
// an API server that enforces them.
func TestIntegrationManagerImage(t *testing.T) {
	t.Parallel()
	eng := integration.Engine(t, observerImage)
	info := must.Get(eng.Info(t.Context()))(t)
	socket, local := strings.CutPrefix(info.Endpoint, "unix://")
	if !local {
		t.Skipf("the engine is at %s: a Pod mounts a socket", info.Endpoint)
	}
	buildManagerImage(t, info.Name)
	config := env.Start(t)
	program := clusterctl.New(t, root)
	objects := overlay(t, program, info.Name+"-socket")
	api := must.Get(client.New(config, client.Options{Scheme: builders.Scheme(t)}))(t)
	deployment := applyAllButRunning(t, api, objects)
	var proxy *enginetest.Proxy
	if info.Name == "docker" {
		// Of Podman, whose service makes a new socket at each start, the directory is mounted.
		proxy = enginetest.NewProxy(t, info.Endpoint)
		socket = proxy.Path
	}
	pod := &pod{t: t, engine: info.Name, spec: deployment.Spec.Template.Spec, socket: socket, name: "capcon-test-" + identity.NewOwnerID()}
	pod.mountServiceAccount(api, config, deployment.Namespace)
	pod.mountCertificate()
	pod.run()
	pod.becomesReady()
	pausedIsSeen(t, api, pod)
	if proxy != nil {
		pod.reconnects(proxy)
	}
	pod.hasPermissions()
	if log := pod.log(); strings.Contains(log, "forbidden") {
		t.Errorf("the manager lacks a permission:\n%s", log)
	}
}

func buildManagerImage(t *testing.T, engine string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), "make", "-C", root, "images-load", "IMAGES=manager", "ENGINE="+engine)
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("make images-load IMAGES=manager: %v\n%s", err, output)
	}
}

// overlay is what a user would apply.
func overlay(t *testing.T, program *clusterctl.Clusterctl, name string) []*unstructured.Unstructured {
	t.Helper()
	built := must.Get(program.Kustomize(root, filepath.Join("config", name)))(t)
	generated := must.Get(program.Pipe(t.Context(), built, "generate", "yaml"))(t)
	return clusterctl.Decode(t, generated)
}

// applyAllButRunning creates what the Deployment needs, and returns it. The
// definitions and webhooks are there already, and cert-manager is not.
func applyAllButRunning(t *testing.T, api client.Client, objects []*unstructured.Unstructured) *appsv1.Deployment {
	t.Helper()
	there := []string{"CustomResourceDefinition", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration", "Certificate", "Issuer"}
	deployment := &appsv1.Deployment{}
	for _, object := range objects {
		if slices.Contains(there, object.GetKind()) {
			continue
		}
		if err := api.Create(t.Context(), object); err != nil {
			t.Fatalf("create %s %s: %v", object.GetKind(), object.GetName(), err)
		}
		if object.GetKind() == "Deployment" {
			must.Succeed(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, deployment))
		}
	}
	return deployment
}

// pausedIsSeen: the controllers run, and may read and write what they must.
func pausedIsSeen(t *testing.T, api client.Client, p *pod) {
	t.Helper()
	cluster := &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "paused"},
		Spec: clusterv1.ClusterSpec{
			Paused: ptr.To(true),
			InfrastructureRef: clusterv1.ContractVersionedObjectReference{
				APIGroup: infrav1.GroupVersion.Group, Kind: "ContainerCluster", Name: "paused",
			},
		},
	}
	must.Succeed(t, api.Create(t.Context(), cluster))
	containerCluster := &infrav1.ContainerCluster{ObjectMeta: metav1.ObjectMeta{
		Namespace: cluster.Namespace, Name: cluster.Name,
		OwnerReferences: []metav1.OwnerReference{{
			APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: cluster.Name, UID: cluster.UID,
		}},
	}}
	must.Succeed(t, api.Create(t.Context(), containerCluster))
	must.Eventually(t, becomesReady, "the paused ContainerCluster has its condition and its finalizer", func(ctx context.Context) error {
		err := api.Get(ctx, client.ObjectKeyFromObject(containerCluster), containerCluster)
		if err == nil && (!conditions.IsTrue(containerCluster, clusterv1.PausedCondition) ||
			!slices.Contains(containerCluster.Finalizers, infrav1.ClusterFinalizer)) {
			err = fmt.Errorf("conditions %v, finalizers %v\n%s", containerCluster.Status.Conditions, containerCluster.Finalizers, p.log())
		}
		return err
	})
}
