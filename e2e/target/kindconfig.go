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

package target

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	kindv1 "sigs.k8s.io/kind/pkg/apis/config/v1alpha4"
	"sigs.k8s.io/yaml"

	"github.com/capi-samples/cluster-api-provider-container/controllers/hostinfo"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// config returns what kind is to create, after the network is there and the host was
// probed as the provider does it before it creates a machine.
func (k *KindCluster) config(ctx context.Context, eng engine.Engine, info engine.Info) (*kindv1.Cluster, error) {
	// First: of a network that kind creates no static addresses can be given.
	if _, err := network.Ensure(ctx, eng, network.Request{Name: k.options.Network, Families: k.options.families()}); err != nil {
		return nil, err
	}
	_, err := eng.InspectImage(ctx, k.options.NodeImage)
	if errors.Is(err, engine.ErrNotFound) {
		err = eng.PullImage(ctx, k.options.NodeImage, nil, nil)
	}
	if err != nil {
		return nil, fmt.Errorf("get the node image %q: %w", k.options.NodeImage, err)
	}
	facts, err := hostinfo.NewObserver(eng).Observe(ctx, k.options.NodeImage, k.options.Network)
	if err != nil {
		return nil, err
	}
	return kindConfig(facts.Node, k.minor, socketOf(info), k.options.families())
}

// ownerPermissions makes the API server check who sets an owner that blocks its
// deletion, as some distributions do: it shows permissions that a provider lacks.
const ownerPermissions = `kind: ClusterConfiguration
apiServer:
  extraArgs:
    enable-admission-plugins: OwnerReferencesPermissionEnforcement
`

// kindConfig is a cluster of one node that is adapted to the host.
func kindConfig(host node.Host, minor int, socket Socket, families network.Families) (*kindv1.Cluster, error) {
	kubelet, err := kubeletConfiguration(hostFlags(host, minor))
	if err != nil {
		return nil, err
	}
	patches := []string{ownerPermissions}
	for _, patch := range []map[string]any{kubelet, kubeProxyConfiguration()} {
		text, err := yaml.Marshal(patch)
		if err != nil {
			return nil, fmt.Errorf("encode a patch of kubeadm's configuration: %w", err)
		}
		patches = append(patches, string(text))
	}
	config := &kindv1.Cluster{
		Nodes: []kindv1.Node{{
			Role:        kindv1.ControlPlaneRole,
			ExtraMounts: []kindv1.Mount{{HostPath: socket.HostPath, ContainerPath: socket.ContainerPath}},
		}},
		KubeadmConfigPatches: patches,
	}
	if patch := node.ContainerdPatch(host); patch != "" {
		config.ContainerdConfigPatches = []string{patch}
	}
	if families.Has(network.IPv6) {
		config.Networking.IPFamily = kindv1.DualStackFamily
	}
	kindv1.SetDefaultsCluster(config)
	return config, nil
}

// hostFlags are the kubelet's flags that a node of the provider's has because of this
// host. The others kind gives its nodes too.
func hostFlags(host node.Host, minor int) []string {
	kubelet := node.Kubelet{KubernetesMinor: minor}
	everywhere := node.KubeletFlags(kubelet, node.Host{CgroupVersion: "2"})
	return slices.DeleteFunc(node.KubeletFlags(kubelet, host), func(flag string) bool {
		return slices.Contains(everywhere, flag)
	})
}

// kubeletConfiguration says the same as flags: kind's own flags are a list, which a
// patch would replace. A flag that has no field here is an error.
func kubeletConfiguration(flags []string) (map[string]any, error) {
	configuration := map[string]any{"kind": "KubeletConfiguration"}
	for _, flag := range flags {
		name, value, _ := strings.Cut(flag, "=")
		switch name {
		case "--fail-cgroupv1":
			enabled, err := strconv.ParseBool(value)
			if err != nil {
				return nil, fmt.Errorf("read the kubelet's flag %s: %w", flag, err)
			}
			configuration["failCgroupV1"] = enabled
		case "--feature-gates":
			gate, value, _ := strings.Cut(value, "=")
			enabled, err := strconv.ParseBool(value)
			if err != nil {
				return nil, fmt.Errorf("read the kubelet's flag %s: %w", flag, err)
			}
			configuration["featureGates"] = map[string]bool{gate: enabled}
		default:
			return nil, fmt.Errorf("the kubelet's flag %s has no field of its configuration in the management cluster: add it to kubeletConfiguration", flag)
		}
	}
	return configuration, nil
}

func kubeProxyConfiguration() map[string]any {
	return map[string]any{"kind": "KubeProxyConfiguration", "conntrack": map[string]any{"maxPerCore": userdata.ConntrackMaxPerCore}}
}
