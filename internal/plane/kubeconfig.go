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

package plane

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"path"
	"strings"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// awaitKubeconfig waits until the daemon has written the host's kubeconfig.
func (p *Plane) awaitKubeconfig(ctx context.Context, id string) ([]byte, error) {
	var kubeconfig []byte
	var last error
	err := wait.PollUntilContextCancel(ctx, startInterval, true, func(ctx context.Context) (bool, error) {
		kubeconfig, last = p.downloadKubeconfig(ctx, id)
		return last == nil, engine.IgnoreNotFound(last)
	})
	return kubeconfig, cmp.Or(last, err)
}

// downloadKubeconfig reads the host's kubeconfig from the volume, and makes sure that it
// works on this host. Not written yet: ErrNotFound.
func (p *Plane) downloadKubeconfig(ctx context.Context, id string) (kubeconfig []byte, err error) {
	kubeconfig, err = engine.ReadFile(ctx, p.engine, id, path.Join(StateDir, AdminKubeconfig))
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig of the management plane: %w", err)
	}
	return kubeconfig, p.openTunnel(kubeconfig)
}

// openTunnel from the kubeconfig's port to the API server, where that is needed. By the container's name: one that
// replaces it has the same port.
func (p *Plane) openTunnel(kubeconfig []byte) error {
	if p.opts.Tunnels == nil {
		return nil
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	server, err := netip.ParseAddrPort(strings.TrimPrefix(config.Host, "https://"))
	if err != nil {
		return fmt.Errorf("read server of kubeconfig: %w", err)
	}
	_, err = p.opts.Tunnels.Open(p.opts.Name, server.Port(), netip.AddrPortFrom(loopback(), apiPort))
	return err
}
