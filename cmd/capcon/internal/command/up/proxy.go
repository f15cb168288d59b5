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

package up

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"net/url"
	"strings"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/objects"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

const noProxy = "NO_PROXY"

// decideProxy passes the proxy of this process on to the nodes of a new cluster. No value is
// printed: it may have a password.
func (r *run) decideProxy(ctx context.Context, values *objects.Values) error {
	proxies, unreachable := proxiesOf(r.session.Getenv)
	if len(proxies)+len(unreachable) == 0 || values.InMemory {
		return nil
	}
	if len(proxies) == 0 {
		r.board.Finished(session.StepProxy, strings.Join(unreachable, ", ")+" not configured: nodes cannot reach a loopback address of this host")
		return nil
	}
	direct, err := r.withoutProxy(ctx, values)
	if err != nil {
		return err
	}
	var names []string
	for _, variable := range append(proxies, infrav1.EnvironmentVariable{Name: noProxy, Value: strings.Join(direct, ",")}) {
		if reason, remedy := node.CheckVariable(variable.Name, variable.Value); reason != "" {
			return fmt.Errorf("environment variable %s %s; %s", variable.Name, reason, remedy)
		}
		names = append(names, variable.Name)
		values.Environment = append(values.Environment, variable,
			infrav1.EnvironmentVariable{Name: strings.ToLower(variable.Name), Value: variable.Value})
	}
	detail := "configured in nodes: " + strings.Join(names, ", ") + ", with the address ranges of the cluster"
	if len(unreachable) > 0 {
		detail += "; not configured: " + strings.Join(unreachable, ", ") + " with a loopback address of this host"
	}
	r.board.Finished(session.StepProxy, detail)
	return nil
}

// withoutProxy are the addresses and names that need no proxy. The network is created for
// its subnet, where nodes and endpoint are, if it is not there yet.
func (r *run) withoutProxy(ctx context.Context, values *objects.Values) ([]string, error) {
	on, err := r.on(ctx)
	if err != nil {
		return nil, err
	}
	found, err := network.Ensure(ctx, on.Engine, network.Request{Name: values.Network, Families: r.request.Families()})
	if err != nil {
		return nil, fmt.Errorf("get addresses without proxy: %w", err)
	}
	var direct []string
	if exceptions := cmp.Or(r.session.Getenv(noProxy), r.session.Getenv(strings.ToLower(noProxy))); exceptions != "" {
		direct = append(direct, exceptions)
	}
	direct = append(direct, values.PodCIDR, values.ServiceCIDR)
	for _, subnet := range found.Subnets {
		direct = append(direct, subnet.Prefix.String())
	}
	return append(direct, ".svc", ".cluster.local"), nil
}

// proxiesOf an environment, and the names of those that nodes cannot reach.
func proxiesOf(getenv func(string) string) (proxies []infrav1.EnvironmentVariable, unreachable []string) {
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY"} {
		value := cmp.Or(getenv(name), getenv(strings.ToLower(name)))
		switch {
		case value == "":
		case isLoopback(value):
			unreachable = append(unreachable, name)
		default:
			proxies = append(proxies, infrav1.EnvironmentVariable{Name: name, Value: value})
		}
	}
	return proxies, unreachable
}

// isLoopback reports whether a proxy is on a loopback address.
func isLoopback(proxy string) bool {
	host := proxyHost(proxy)
	address, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && address.IsLoopback()
}

// proxyHost is the host of a proxy, a URL or HOST:PORT; empty if it is neither.
func proxyHost(proxy string) string {
	if !strings.Contains(proxy, "://") {
		proxy = "http://" + proxy
	}
	parsed, err := url.Parse(proxy)
	if err != nil {
		return ""
	}
	return parsed.Hostname()
}
