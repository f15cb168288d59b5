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
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// Edit changes an object, again where a controller wrote it meanwhile.
func Edit[T client.Object](t *testing.T, api client.Client, key client.ObjectKey, object T, change func(T)) {
	t.Helper()
	Eventually(t, fmt.Sprintf("%T %s is changed", object, key.Name), func(ctx context.Context) (string, error) {
		if err := api.Get(ctx, key, object); err != nil {
			return "", err
		}
		change(object)
		return "", api.Update(ctx, object)
	})
}

// KillManager kills the one process of the management plane that is its manager; the
// plane's image has no program that could. It reports whether there is one.
func KillManager(planeName string) (bool, error) {
	lines, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return false, err
	}
	for _, line := range lines {
		content, err := os.ReadFile(line)
		if err != nil {
			continue // It has ended.
		}
		args := strings.Split(string(content), "\x00")
		if len(args) < 2 || filepath.Base(args[0]) != "capcon-plane" || args[1] != "manager" || !slices.Contains(args, "--self-container="+planeName) {
			continue
		}
		pid, err := strconv.Atoi(filepath.Base(filepath.Dir(line)))
		if err != nil {
			return false, err
		}
		return true, syscall.Kill(pid, syscall.SIGKILL)
	}
	return false, nil
}

// Management connects to the management plane.
func Management(t *testing.T, program *Program) client.Client {
	t.Helper()
	api := must.Get(ConnectManagement(t.Context(), t.Output(), program))(t)
	return api
}

// ConnectManagement is Management for callers that retry.
func ConnectManagement(ctx context.Context, warnings io.Writer, program *Program) (client.Client, error) {
	kubeconfig, err := program.getKubeconfig(ctx, "--management")
	if err != nil {
		return nil, err
	}
	return ConnectPlane(warnings, kubeconfig)
}

// ConnectPlane connects to the management plane of a kubeconfig.
func ConnectPlane(warnings io.Writer, kubeconfig []byte) (client.Client, error) {
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig of the management plane: %w", err)
	}
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, clusterv1.AddToScheme, addonsv1.AddToScheme,
		bootstrapv1.AddToScheme, controlplanev1.AddToScheme, infrav1.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return nil, fmt.Errorf("register types: %w", err)
		}
	}
	// Tests that measure do not wait for their own client.
	config.QPS = -1
	config.WarningHandler = rest.NewWarningWriter(warnings, rest.WarningWriterOptions{})
	api, err := client.New(config, client.Options{Scheme: scheme})
	if err != nil {
		return nil, fmt.Errorf("connect to the management plane: %w", err)
	}
	return api, nil
}

// Machines of the cluster, from the management plane.
func Machines(t *testing.T, program *Program) []clusterv1.Machine {
	t.Helper()
	found := must.Get(ListMachines(t.Context(), Management(t, program), program.Cluster))(t)
	return found
}

// ListMachines of a cluster.
func ListMachines(ctx context.Context, api client.Reader, cluster string) ([]clusterv1.Machine, error) {
	found := &clusterv1.MachineList{}
	if err := api.List(ctx, found, client.MatchingLabels{clusterv1.ClusterNameLabel: cluster}); err != nil {
		return nil, fmt.Errorf("list Machines: %w", err)
	}
	return found.Items, nil
}

// MachinesReady waits until the management plane finds every Machine's
// infrastructure ready: it has seen what happened, and that it is over.
func MachinesReady(t *testing.T, program *Program) {
	t.Helper()
	Eventually(t, "infrastructure of all Machines ready", func(ctx context.Context) (string, error) {
		api, err := ConnectManagement(ctx, t.Output(), program)
		if err != nil {
			return "", err
		}
		found, err := ListMachines(ctx, api, program.Cluster)
		if err != nil || len(found) == 0 {
			return "there are none", err
		}
		for _, machine := range found {
			if ready := conditions.Get(&machine, clusterv1.MachineInfrastructureReadyCondition); ready == nil || ready.Status != metav1.ConditionTrue {
				return fmt.Sprintf("%s: %s", machine.Name, ready), nil
			}
		}
		return "", nil
	})
}

// DiscardPlane removes a plane with the Clusters that it has, as a loss of its data
// does.
func DiscardPlane(ctx context.Context, eng engine.Engine, name string) error {
	err := eng.RemoveContainer(ctx, name)
	volumes, listErr := eng.ListVolumes(ctx, map[string]string{identity.LabelPlane: name})
	err = errors.Join(err, listErr)
	for _, volume := range volumes {
		err = errors.Join(err, eng.RemoveVolume(ctx, volume.Name))
	}
	return err
}
