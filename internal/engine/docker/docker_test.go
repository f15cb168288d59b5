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

package docker

import (
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/moby/moby/api/types/container"
	"github.com/moby/moby/api/types/events"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/api/types/mount"
	"github.com/moby/moby/api/types/network"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func netipComparers() cmp.Option {
	return cmp.Options{cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}, network.Port{})}
}

func TestHostConfig(t *testing.T) {
	t.Parallel()
	noInit, pids := false, int64(100)
	cases := map[string]struct {
		reason string
		spec   engine.Spec
		want   container.HostConfig
	}{
		"zero": {
			reason: "the zero values are the safe ones",
		},
		"security": {
			reason: "each bound has its own option",
			spec: engine.Spec{Restart: engine.RestartUnlessStopped, Security: engine.Security{
				DropAllCapabilities: true, AddCapabilities: []string{"SYS_ADMIN"},
				Unconfined: true, NoNewPrivileges: true, PrivateCgroupNamespace: true,
			}},
			want: container.HostConfig{
				RestartPolicy: container.RestartPolicy{Name: "unless-stopped"},
				CapDrop:       []string{"ALL"}, CapAdd: []string{"SYS_ADMIN"}, CgroupnsMode: "private",
				SecurityOpt: []string{"seccomp=unconfined", "apparmor=unconfined", "no-new-privileges"},
			},
		},
		"engine socket": {
			reason: "neither SELinux nor another user namespace may keep root from the socket",
			spec:   engine.Spec{Security: engine.Security{EngineSocket: true}},
			want:   container.HostConfig{UsernsMode: "host", SecurityOpt: []string{"label=disable"}},
		},
		"privileged": {
			reason: "an engine that remaps users takes it in its own user namespace only",
			spec:   engine.Spec{Security: engine.Security{Privileged: true}},
			want:   container.HostConfig{UsernsMode: "host", Privileged: true},
		},
		"resources": {
			reason: "no swap in addition to the memory",
			spec:   engine.Spec{Resources: engine.Resources{MemoryBytes: 1 << 30, MilliCPU: 1500, Pids: 100, OpenFiles: 4096}},
			want: container.HostConfig{
				Resources: container.Resources{
					Memory: 1 << 30, MemorySwap: 1 << 30, NanoCPUs: 1_500_000_000, PidsLimit: &pids,
					Ulimits: []*container.Ulimit{{Name: "nofile", Soft: 4096, Hard: 4096}},
				},
			},
		},
		"mounts": {
			reason: "a tmpfs is not a Mount, to allow exec",
			spec: engine.Spec{Mounts: []engine.Mount{
				{Type: engine.MountTmpfs, Target: "/run"},
				{Type: engine.MountVolume, Target: "/var"},
				{Type: engine.MountBind, Source: "/lib/modules", Target: "/lib/modules", ReadOnly: true},
			}},
			want: container.HostConfig{
				Tmpfs: map[string]string{"/run": "rw,exec"},
				Mounts: []mount.Mount{
					{Type: "volume", Target: "/var"},
					{Type: "bind", Source: "/lib/modules", Target: "/lib/modules", ReadOnly: true},
				},
			},
		},
		"CDI devices": {
			reason: "Docker has a driver for them",
			spec:   engine.Spec{CDIDevices: []string{"vendor.com/class=name"}},
			want: container.HostConfig{
				Resources: container.Resources{
					DeviceRequests: []container.DeviceRequest{{Driver: "cdi", DeviceIDs: []string{"vendor.com/class=name"}}},
				},
			},
		},
		"ports": {
			reason: "what is not given is the engine's to choose",
			spec: engine.Spec{Attachment: engine.Attachment{Network: "net"}, Ports: []engine.PortBinding{
				{HostAddress: netip.MustParseAddr("127.0.0.1"), HostPort: 6443, ContainerPort: 6443}, {ContainerPort: 80},
			}},
			want: container.HostConfig{
				NetworkMode: "net",
				PortBindings: network.PortMap{
					network.MustParsePort("6443/tcp"): {{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: "6443"}},
					network.MustParsePort("80/tcp"):   {{}},
				},
			},
		},
	}
	for name, c := range cases {
		c.want.Init = &noInit
		if c.want.RestartPolicy.Name == "" {
			c.want.RestartPolicy.Name = "no"
		}
		if diff := cmp.Diff(&c.want, hostConfig(c.spec), cmpopts.EquateEmpty(), netipComparers()); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, c.reason, diff)
		}
	}
}

func TestSubnets(t *testing.T) {
	t.Parallel()
	got := subnets(network.IPAM{Config: []network.IPAMConfig{
		{}, // the network none has a configuration without a subnet
		{Subnet: netip.MustParsePrefix("fd00::/64"), Gateway: netip.MustParseAddr("fd00::1")},
		{
			Subnet: netip.MustParsePrefix("172.18.0.1/16"), Gateway: netip.MustParseAddr("172.18.0.1"),
			IPRange: netip.MustParsePrefix("172.18.128.0/17"),
		},
	}})
	want := []engine.Subnet{
		{Prefix: netip.MustParsePrefix("172.18.0.0/16"), Gateway: netip.MustParseAddr("172.18.0.1"), Dynamic: netip.MustParsePrefix("172.18.128.0/17")},
		{Prefix: netip.MustParsePrefix("fd00::/64"), Gateway: netip.MustParseAddr("fd00::1")},
	}
	if diff := cmp.Diff(want, got, netipComparers()); diff != "" {
		t.Errorf("IPv4 first, and a subnet without the bits of a host (-want +got):\n%s", diff)
	}
}

func TestPublishedPorts(t *testing.T) {
	t.Parallel()
	got := publishedPorts(network.PortMap{
		network.MustParsePort("80/tcp"):   {{HostIP: netip.MustParseAddr("0.0.0.0"), HostPort: "8080"}, {HostIP: netip.MustParseAddr("::"), HostPort: "8080"}},
		network.MustParsePort("443/tcp"):  {{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: "8443"}},
		network.MustParsePort("99/sctp"):  {{HostIP: netip.MustParseAddr("0.0.0.0"), HostPort: "99"}},
		network.MustParsePort("53/udp"):   {{HostIP: netip.MustParseAddr("0.0.0.0"), HostPort: "53"}},
		network.MustParsePort("9090/tcp"): nil,
	})
	want := []engine.PortBinding{
		{HostPort: 53, ContainerPort: 53, Protocol: engine.ProtocolUDP},
		{HostPort: 8080, ContainerPort: 80},
		{HostAddress: netip.MustParseAddr("127.0.0.1"), HostPort: 8443, ContainerPort: 443},
	}
	if diff := cmp.Diff(want, got, netipComparers()); diff != "" {
		t.Errorf("all addresses of both families are one binding, without an address (-want +got):\n%s", diff)
	}
}

func TestListed(t *testing.T) {
	t.Parallel()
	summary := container.Summary{
		ID: "0f", Names: []string{"/other/link", "/a"}, State: "running", Created: 1,
		Ports: []container.PortSummary{
			{IP: netip.MustParseAddr("0.0.0.0"), PrivatePort: 80, PublicPort: 8080, Type: "tcp"}, {IP: netip.MustParseAddr("::"), PrivatePort: 80, PublicPort: 8080, Type: "tcp"},
			{PrivatePort: 443, Type: "tcp"}, {IP: netip.MustParseAddr("0.0.0.0"), PrivatePort: 53, PublicPort: 53, Type: "udp"},
		},
		NetworkSettings: &container.NetworkSettingsSummary{Networks: map[string]*network.EndpointSettings{"net": nil}},
	}
	want := engine.Container{
		ID: "0f", Name: "a", Status: engine.StatusRunning, CreatedAt: time.Unix(1, 0), Networks: map[string]engine.Endpoint{"net": {}},
	}
	if diff := cmp.Diff(want, listed(summary)); diff != "" {
		t.Errorf("the name is the one that no link gave it (-want +got):\n%s", diff)
	}
	ports := []engine.PortBinding{{HostPort: 53, ContainerPort: 53, Protocol: engine.ProtocolUDP}, {HostPort: 8080, ContainerPort: 80}}
	if diff := cmp.Diff(ports, listedPorts(summary), netipComparers()); diff != "" {
		t.Errorf("ports that are published (-want +got):\n%s", diff)
	}
	if name := ownName(nil); name != "" {
		t.Errorf("name %q of a container without one", name)
	}
}

func TestPinnedPorts(t *testing.T) {
	t.Parallel()
	if got := pinnedPorts(container.InspectResponse{}); got != nil {
		t.Errorf("ports %v of a container without a configuration, want none", got)
	}
	got := pinnedPorts(container.InspectResponse{HostConfig: &container.HostConfig{
		PortBindings: network.PortMap{network.MustParsePort("80/tcp"): {{}}, network.MustParsePort("443/tcp"): {{HostPort: "8443"}}},
	}})
	if diff := cmp.Diff([]engine.PortBinding{{HostPort: 8443, ContainerPort: 443}}, got, netipComparers()); diff != "" {
		t.Errorf("a port that the engine chooses is never taken (-want +got):\n%s", diff)
	}
}

// TestSaysPortTaken has the texts that Docker 20.10 and 28 answer with; the
// conformance suite has those of the engine at hand.
func TestSaysPortTaken(t *testing.T) {
	t.Parallel()
	const prefix = "driver failed programming external connectivity on endpoint a (0f): "
	for text, want := range map[string]bool{
		prefix + "Bind for 127.0.0.1:6443 failed: port is already allocated":                             true,
		prefix + "Error starting userland proxy: listen tcp4 0.0.0.0:6443: bind: address already in use": true,
		prefix + "failed to bind host port for 127.0.0.1:6443:172.17.0.2:80/tcp: address already in use": true, // Docker 28
		prefix + "Bind for 127.0.0.1:7443 failed: port is already allocated":                             false,
		prefix + "Bind for 127.0.0.1:64430 failed: port is already allocated":                            false,
		"OCI runtime create failed: 127.0.0.1:6443":                                                      false,
		"Address already in use": false,
	} {
		if got := saysPortTaken(errors.New(text), 6443); got != want {
			t.Errorf("%q says that port 6443 is taken: %v, want %v", text, got, want)
		}
	}
}

func TestTranslate(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		message events.Message
		want    engine.Event
		ok      bool
	}{
		"start": {
			reason: "labels come mixed with Docker's own attributes",
			message: events.Message{Type: "container", Action: "start", Actor: events.Actor{
				ID: "0f", Attributes: map[string]string{"name": "a", "image": "i", "label": "x"},
			}},
			want: engine.Event{Kind: engine.EventStart, ContainerID: "0f", Container: "a", Labels: map[string]string{"label": "x"}},
			ok:   true,
		},
		"connect": {
			reason: "the actor is the network",
			message: events.Message{Type: "network", Action: "connect", Actor: events.Actor{
				ID: "ff", Attributes: map[string]string{"container": "0f", "name": "net", "type": "bridge"},
			}},
			want: engine.Event{Kind: engine.EventConnect, ContainerID: "0f", Network: "net"},
			ok:   true,
		},
		"network removed": {
			reason:  "the filter for removed containers lets it pass",
			message: events.Message{Type: "network", Action: "destroy"},
		},
		"exec": {
			reason:  "what reading causes is not in the list",
			message: events.Message{Type: "container", Action: "exec_start: cat"},
		},
	}
	for name, c := range cases {
		got, ok := translate(c.message)
		if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(engine.Event{}, "Time")); ok != c.ok || ok && diff != "" {
			t.Errorf("%s: %s: reported %v (-want +got):\n%s", name, c.reason, ok, diff)
		}
	}
}

func TestPullProgress(t *testing.T) {
	t.Parallel()
	layers := layers{}
	steps := []struct {
		id, status     string
		current, total int64
		want           engine.PullProgress
		noted          bool
	}{
		{id: "v1", status: "Pulling from node"},
		{id: "a", status: "Pulling fs layer", noted: true, want: engine.PullProgress{LayersTotal: 1}},
		{id: "b", status: "Already exists", noted: true, want: engine.PullProgress{LayersTotal: 2, LayersDone: 1}},
		{id: "a", status: "Downloading", current: 10, total: 40, noted: true, want: engine.PullProgress{CurrentBytes: 10, TotalBytes: 40, LayersTotal: 2, LayersDone: 1}},
		// The containerd image store repeats itself every 100 ms, also while nothing arrives.
		{id: "a", status: "Downloading", current: 10, total: 40},
		{id: "a", status: "Download complete", noted: true, want: engine.PullProgress{CurrentBytes: 40, TotalBytes: 40, LayersTotal: 2, LayersDone: 1}},
		{id: "a", status: "Extracting", current: 5, total: 40, noted: true, want: engine.PullProgress{CurrentBytes: 40, TotalBytes: 40, LayersTotal: 2, LayersDone: 1}},
		{id: "a", status: "Extracting", current: 5, total: 40},
		{id: "a", status: "Extracting", current: 6, total: 40, noted: true, want: engine.PullProgress{CurrentBytes: 40, TotalBytes: 40, LayersTotal: 2, LayersDone: 1}},
		{id: "a", status: "Pull complete", noted: true, want: engine.PullProgress{CurrentBytes: 40, TotalBytes: 40, LayersTotal: 2, LayersDone: 2}},
		{status: "Status: Downloaded newer image"},
	}
	for i, step := range steps {
		noted := layers.note(jsonstream.Message{
			ID: step.id, Status: step.status, Progress: &jsonstream.Progress{Current: step.current, Total: step.total},
		})
		if noted != step.noted {
			t.Errorf("step %d, %q: noted %v, want %v", i, step.status, noted, step.noted)
		}
		if diff := cmp.Diff(step.want, layers.sum()); noted && diff != "" {
			t.Errorf("step %d, %q (-want +got):\n%s", i, step.status, diff)
		}
	}
}

func TestClosed(t *testing.T) {
	t.Parallel()
	eng := must.Get(New("unix:///nowhere.sock"))(t)
	must.Succeed(t, eng.Close())
	_, inspected := eng.InspectContainer(t.Context(), "node")
	for call, err := range map[string]error{
		"InspectContainer": inspected,
		"ContainerLog":     eng.ContainerLog(t.Context(), "node", engine.LogRequest{}, io.Discard),
		"StartContainer":   eng.StartContainer(t.Context(), "node"),
	} {
		if !errors.Is(err, engine.ErrUnavailable) || !strings.Contains(err.Error(), "is closed") {
			t.Errorf("%s after Close returns %v, want that connection is closed", call, err)
		}
	}
}
