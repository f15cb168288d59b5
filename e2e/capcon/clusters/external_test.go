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

// Package clusters tests what capcon has no flag for, with clusters on a real engine that are
// declared object by object.
package clusters_test

import (
	"archive/tar"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/netip"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const externalCluster = "external-test"

// TestExternalEndpoint makes a cluster before whose API server stands
// something that is not the provider's: a proxy that this test runs, as the
// operators of a data center run theirs. The cluster waits for the endpoint, then
// comes up without a load balancer, and is deleted without waiting for one.
func TestExternalEndpoint(t *testing.T) {
	eng := integration.Engine(t, capcontest.NodeImage, capcontest.LoadBalancerImage, capcontest.PlaneImage)
	d := capcontest.Declare(t, eng, externalCluster)
	d.ContainerCluster.Spec.LoadBalancer = infrav1.LoadBalancer{Type: infrav1.LoadBalancerNone}
	d.Create(t)
	external := startEndpoint(t, eng)
	capcontest.RunSteps(t, []capcontest.Step{
		{Name: "waits for an endpoint", Run: func(t *testing.T) { waitsForEndpoint(t, d) }},
		{Name: "gets an endpoint", Run: func(t *testing.T) {
			capcontest.Edit(t, d.API, d.Key(), &infrav1.ContainerCluster{}, func(c *infrav1.ContainerCluster) {
				c.Spec.ControlPlaneEndpoint = infrav1.APIEndpoint{Host: external.address.String(), Port: endpointPort}
			})
			external.serve(t, controlPlaneAddress(t, d))
		}},
		{Name: "1+1 ready", Run: func(t *testing.T) { d.ComesUp(t, 2) }},
		{Name: "has no load balancer", Run: func(t *testing.T) { usesEndpoint(t, d, external.address) }},
		{Name: "is deleted", Run: d.Delete},
	})
	if _, err := eng.InspectContainer(t.Context(), endpointName); err != nil {
		t.Errorf("the endpoint, which is not the cluster's, was not left alone: %v", err)
	}
}

// waitsForEndpoint: the conditions say what is missing, and nothing is made.
func waitsForEndpoint(t *testing.T, d *capcontest.Declared) {
	capcontest.Eventually(t, "the cluster asks for an endpoint", func(ctx context.Context) (string, error) {
		found := &infrav1.ContainerCluster{}
		if err := d.API.Get(ctx, d.Key(), found); err != nil {
			return "", err
		}
		missing := conditions.Get(found, infrav1.LoadBalancerReadyCondition)
		if missing == nil || missing.Status != metav1.ConditionFalse || missing.Reason != infrav1.EndpointMissingReason {
			return fmt.Sprintf("%s is %+v", infrav1.LoadBalancerReadyCondition, missing), nil
		}
		cluster := &clusterv1.Cluster{}
		if err := d.API.Get(ctx, d.Key(), cluster); err != nil {
			return "", err
		}
		if ready := conditions.Get(cluster, clusterv1.ClusterInfrastructureReadyCondition); ready == nil || ready.Status != metav1.ConditionFalse {
			return fmt.Sprintf("the Cluster says %+v", ready), nil
		}
		return "", nil
	})
	if made := capcontest.NodeContainers(t, d.Engine, externalCluster); len(made) > 0 {
		t.Errorf("there is no endpoint, and there are containers: %v", capcontest.IDs(made))
	}
}

// controlPlaneAddress waits for the one control plane to have an address.
func controlPlaneAddress(t *testing.T, d *capcontest.Declared) netip.Addr {
	t.Helper()
	var address netip.Addr
	capcontest.Eventually(t, "an address of the control plane", func(ctx context.Context) (string, error) {
		found, err := capcontest.ListMachines(ctx, d.API, externalCluster)
		if err != nil {
			return "", err
		}
		for _, machine := range found {
			for _, has := range machine.Status.Addresses {
				if util.IsControlPlaneMachine(&machine) && has.Type == clusterv1.MachineInternalIP {
					var err error
					address, err = netip.ParseAddr(has.Address)
					return "", err
				}
			}
		}
		return "no Machine has one", nil
	})
	return address
}

// usesEndpoint: the endpoint is the given one everywhere, and there is nothing
// in its place.
func usesEndpoint(t *testing.T, d *capcontest.Declared, address netip.Addr) {
	containers := must.Get(d.Engine.ListContainers(t.Context(), map[string]string{identity.LabelCluster: externalCluster}))(t)
	for _, container := range containers {
		if capcontest.IsLoadBalancer(container) {
			t.Errorf("%s is a load balancer", container.Name)
		}
	}
	found := &infrav1.ContainerCluster{}
	must.Succeed(t, d.API.Get(t.Context(), d.Key(), found))
	if ready := conditions.Get(found, infrav1.ClusterReadyCondition); ready == nil || ready.Status != metav1.ConditionTrue {
		t.Errorf("Ready is %+v", ready)
	}
	if not := conditions.Get(found, infrav1.LoadBalancerReadyCondition); not == nil || not.Reason != infrav1.LoadBalancerNotUsedReason {
		t.Errorf("%s is %+v", infrav1.LoadBalancerReadyCondition, not)
	}
	config := must.Get(clientcmd.RESTConfigFromKubeConfig(d.Program.At(t).Kubeconfig(externalCluster)))(t)
	if want := fmt.Sprintf("https://%s", netip.AddrPortFrom(address, endpointPort)); config.Host != want {
		t.Errorf("the kubeconfig leads to %s, want %s", config.Host, want)
	}
}

const (
	endpointName   = "capcon-test-endpoint"
	endpointPort   = 6443
	endpointConfig = "etc/endpoint.cfg"
)

// endpoint is a TCP proxy on the cluster's network.
type endpoint struct {
	engine  engine.Engine
	address netip.Addr
}

// startEndpoint starts one without a server behind it: its address is known
// from then on.
func startEndpoint(t *testing.T, eng engine.Engine) *endpoint {
	t.Helper()
	e := &endpoint{engine: eng}
	must.Succeed(t, e.engine.RemoveContainer(t.Context(), endpointName))
	t.Cleanup(func() {
		ctx := context.WithoutCancel(t.Context())
		if err := e.engine.RemoveContainer(ctx, endpointName); err != nil {
			t.Error(err)
		}
	})
	container, err := network.Place(t.Context(), e.engine, network.Placement{
		Spec: engine.Spec{
			Name: endpointName, Image: capcontest.LoadBalancerImage, StopSignal: "SIGTERM",
			Entrypoint: []string{"haproxy", "-db", "-f", "/" + endpointConfig},
		},
		Network: network.DefaultName,
		Prepare: func(ctx context.Context, _ []netip.Addr) error { return e.configure(ctx, netip.Addr{}) },
	})
	if err != nil {
		t.Fatalf("start the endpoint: %v", err)
	}
	e.address = network.Addresses(container, network.DefaultName)[0]
	return e
}

// serve what is at the address from now on.
func (e *endpoint) serve(t *testing.T, server netip.Addr) {
	t.Helper()
	for _, do := range []func(ctx context.Context) error{
		func(ctx context.Context) error { return e.engine.StopContainer(ctx, endpointName, 10*time.Second) },
		func(ctx context.Context) error { return e.configure(ctx, server) },
		func(ctx context.Context) error { return e.engine.StartContainer(ctx, endpointName) },
	} {
		if err := do(t.Context()); err != nil {
			t.Fatalf("have the endpoint serve %s: %v", server, err)
		}
	}
	capcontest.Eventually(t, "the endpoint listens", func(ctx context.Context) (string, error) {
		connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", netip.AddrPortFrom(e.address, endpointPort).String())
		if err != nil {
			return "", err
		}
		return "", connection.Close()
	})
}

func (e *endpoint) configure(ctx context.Context, server netip.Addr) error {
	config := fmt.Sprintf(`global
  maxconn 1000
defaults
  mode tcp
  timeout connect 5s
  timeout client 10m
  timeout server 10m
frontend api
  bind :%d
  default_backend api
backend api
`, endpointPort)
	if server.IsValid() {
		config += fmt.Sprintf("  server control-plane %s\n", netip.AddrPortFrom(server, endpointPort))
	}
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	if err := writer.WriteHeader(&tar.Header{Name: endpointConfig, Mode: 0o644, Size: int64(len(config))}); err != nil {
		return err
	}
	if _, err := writer.Write([]byte(config)); err != nil {
		return err
	}
	if err := writer.Close(); err != nil {
		return err
	}
	return e.engine.Upload(ctx, endpointName, &archive)
}
