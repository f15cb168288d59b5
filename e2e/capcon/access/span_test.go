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

package access_test

import (
	"context"
	"fmt"
	"net"
	"os/exec"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const spanCluster = "span-test"

// TestSpan: the engines of three hosts, with one network over all of them.
func TestSpan(t *testing.T) {
	if integration.EngineName() != "docker" {
		t.Skip("the engines are Docker's, with TLS")
	}
	first := integration.Engine(t, capcontest.NodeImage, capcontest.LoadBalancerImage)
	before := capcontest.Ours(t, first)
	s := &spanTest{first: first, program: capcontest.Build(t, spanCluster)}
	lan := capcontest.NewLAN(t)
	for i, name := range []string{"a", "b", "c"} {
		const firstServer = 101
		host := spanHost{lan.StartHost(name, capcontest.NodeImage, capcontest.LoadBalancerImage), capcontest.LANAddress(firstServer + i)}
		host.JoinLAN(t)
		s.hosts = append(s.hosts, host)
	}
	// It is kept, because it has engines.
	planeDown := func() { _, _ = s.program.Run(context.WithoutCancel(t.Context()), "plane", "down") }
	t.Cleanup(planeDown)
	s.program.DownBeforeAndAfter()
	planeDown()
	capcontest.RunSteps(t, []capcontest.Step{
		{Name: "containers of all hosts reach each other", Run: s.reachEachOther},
		{Name: "host loses its power", Run: s.losesPower},
		{Name: "host is cut off", Run: s.cutOff},
		{Name: "engines added", Run: s.added},
		{Name: "host is not on the LAN", Run: s.notConnected},
		{Name: "created", Run: s.created},
		{Name: "workers and a machine pool", Run: s.grown},
		{Name: "stopped and started", Run: s.stopped},
		{Name: "without workers", Run: s.shrunk},
		{Name: "host of the load balancer lost", Run: s.balancerHostLost},
		{Name: "another host lost", Run: s.otherHostLost},
		{Name: "deleted", Run: s.deleted},
	})
	for _, host := range s.hosts {
		s.program.MustRun("engine", "remove", host.Name)
	}
	s.program.MustRun("plane", "down")
	capcontest.NothingLeftSince(t, first, before)
	for _, host := range s.hosts {
		capcontest.NothingLeftSince(t, host.Connect(t), nil)
	}
}

type spanTest struct {
	first   engine.Engine
	program *capcontest.Program
	api     client.Client
	hosts   []spanHost
}

func (s *spanTest) added(t *testing.T) {
	program := s.program.At(t)
	for _, host := range s.hosts {
		program.MustRun(append([]string{"engine", "add", host.Name, host.Endpoint()}, host.Issue("client-"+host.Name).Flags()...)...)
	}
	s.api = capcontest.Management(t, program)
	for _, host := range s.hosts {
		engineReachable(t, s.api, host.Name, metav1.ConditionTrue, "")
	}
}

// reachEachOther: containers with static addresses, in pairs, from this machine, and from containers of its own engine.
func (s *spanTest) reachEachOther(t *testing.T) {
	for _, host := range s.hosts {
		host.startServer(t)
	}
	for _, host := range s.hosts {
		s.reachable(t, host)
	}
	network := must.Get(s.hosts[0].Connect(t).InspectNetwork(t.Context(), capcontest.LANNetwork))(t)
	t.Logf("%+v", network)
	if network.Driver != "macvlan" {
		t.Errorf("the driver is %q", network.Driver)
	}
}

// losesPower: the others no longer reach its containers, which start with its engine, at the same addresses.
func (s *spanTest) losesPower(t *testing.T) {
	lost, other := s.hosts[0], s.hosts[1]
	ofLost, ofOther := lost.measureAvailability(t), other.measureAvailability(t)
	lost.Kill(t)
	if output, err := lost.askFrom(t.Context(), other); err == nil {
		t.Errorf("it responds after its end: %s", output)
	}
	lost.Start(t)
	s.reachable(t, lost)
	ofLost.AwaitAnswers(t, time.Second)
	t.Logf("host %s: %s\nhost %s: %s", lost.Name, ofLost, other.Name, ofOther)
	if len(ofLost.Outages()) == 0 {
		t.Error("no outage was measured")
	}
}

// cutOff: it is not reached, and its containers run.
func (s *spanTest) cutOff(t *testing.T) {
	lost, other := s.hosts[2], s.hosts[0]
	started := lost.Docker(t, "inspect", "--format", "{{.State.StartedAt}}", spanServer)
	lost.Unplug(t)
	if output, err := lost.askFrom(t.Context(), other); err == nil {
		t.Errorf("it responds while it is cut off: %s", output)
	}
	lost.Plug(t)
	s.reachable(t, lost)
	if again := lost.Docker(t, "inspect", "--format", "{{.State.StartedAt}}", spanServer); again != started {
		t.Errorf("its container started at %s, and before at %s", again, started)
	}
	for _, host := range s.hosts {
		host.Docker(t, "rm", "--force", "--volumes", spanServer)
	}
}

// reachable from the containers of all hosts, from this machine and from containers of its engine.
func (s *spanTest) reachable(t *testing.T, host spanHost) {
	t.Helper()
	checks := map[string]func(ctx context.Context) (string, error){
		"this machine": func(ctx context.Context) (string, error) {
			return answer(exec.CommandContext(ctx, host.ask()[0], host.ask()[1:]...))
		},
		"a container of this machine": func(ctx context.Context) (string, error) {
			arguments := append([]string{"run", "--rm", "--entrypoint", host.ask()[0], capcontest.LoadBalancerImage}, host.ask()[1:]...)
			return answer(exec.CommandContext(ctx, "docker", arguments...))
		},
	}
	for _, other := range s.hosts {
		checks["host "+other.Name] = func(ctx context.Context) (string, error) { return host.askFrom(ctx, other) }
	}
	for from, check := range checks {
		capcontest.Eventually(t, fmt.Sprintf("%s reaches host %s", from, host.Name), func(ctx context.Context) (string, error) {
			output, err := check(ctx)
			if err == nil && output != host.Name {
				return fmt.Sprintf("the answer is %q", output), nil
			}
			return "", err
		})
	}
}

// spanHost has a container that responds with the name of the host.
type spanHost struct {
	*capcontest.Host
	address string
}

const spanServer, spanPort = "server", "8080"

func (h spanHost) startServer(t *testing.T) {
	t.Helper()
	const script = `cat >/tmp/haproxy.cfg <<END
defaults
  mode http
  timeout client 5s
  timeout server 5s
  timeout connect 5s
frontend name
  bind :%s
  http-request return status 200 content-type text/plain string %s
END
exec haproxy -f /tmp/haproxy.cfg`
	h.Docker(t, "run", "--detach", "--restart", "unless-stopped", "--name", spanServer, "--network", capcontest.LANNetwork, "--ip", h.address,
		"--entrypoint", "bash", capcontest.LoadBalancerImage, "-ec", fmt.Sprintf(script, spanPort, h.Name))
}

func (h spanHost) measureAvailability(t *testing.T) *capcontest.Availability {
	t.Helper()
	client := must.Get(capcontest.NewConnections(&rest.Config{}))(t)
	return capcontest.MeasureAvailabilityOf(t, "http://"+net.JoinHostPort(h.address, spanPort), client)
}

// ask is a command that asks the server of a host. The image of the load balancer has no client.
func (h spanHost) ask() []string {
	const script = `exec 3<>/dev/tcp/$0/$1; printf 'GET / HTTP/1.0\r\n\r\n' >&3; tail --lines 1 <&3`
	return []string{"timeout", "5", "bash", "-ec", script, h.address, spanPort}
}

// askFrom the server's container of another host.
func (h spanHost) askFrom(ctx context.Context, other spanHost) (string, error) {
	return answer(other.DockerCommand(ctx, append([]string{"exec", spanServer}, h.ask()...)...))
}

func answer(command *exec.Cmd) (string, error) {
	output, err := command.CombinedOutput()
	if err != nil {
		return "", fmt.Errorf("%w: %s", err, output)
	}
	return string(output), nil
}
