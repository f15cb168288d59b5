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

package podman

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/containers/podman/v5/libpod/define"
	"github.com/containers/podman/v5/pkg/errorhandling"
	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func comparers() cmp.Option {
	return cmp.Options{cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}), cmpopts.EquateEmpty()}
}

func TestContainerOf(t *testing.T) {
	t.Parallel()
	static := netip.MustParseAddr("10.89.0.7")
	base := func(change func(*containerBody)) containerBody {
		body := containerBody{
			Restart: "no", Systemd: "false", Resources: &resourcesBody{Pids: &pidsBody{Limit: unboundedPids}},
		}
		change(&body)
		return body
	}
	cases := map[string]struct {
		reason string
		spec   engine.Spec
		want   containerBody
	}{
		"zero": {
			reason: "the zero values are the safe ones, and Podman's own bound of processes is taken off",
			want:   base(func(*containerBody) {}),
		},
		"security": {
			reason: "each bound has its own option",
			spec: engine.Spec{Restart: engine.RestartUnlessStopped, Security: engine.Security{
				DropAllCapabilities: true, AddCapabilities: []string{"SYS_ADMIN"},
				Unconfined: true, NoNewPrivileges: true, PrivateCgroupNamespace: true,
			}},
			want: base(func(b *containerBody) {
				b.Restart = always
				b.CapDrop, b.CapAdd = []string{"ALL"}, []string{"SYS_ADMIN"}
				b.Seccomp, b.AppArmor, b.SELinux = "unconfined", "unconfined", []string{"disable"}
				b.NoNewPrivileges, b.CgroupNS = true, &namespace{Mode: "private"}
			}),
		},
		"no new privileges": {
			reason: "with Podman's AppArmor profile, the processes of the container could not signal each other",
			spec:   engine.Spec{Security: engine.Security{NoNewPrivileges: true}},
			want:   base(func(b *containerBody) { b.NoNewPrivileges, b.AppArmor = true, "unconfined" }),
		},
		"engine socket": {
			reason: "neither SELinux nor another user namespace may keep root from the socket",
			spec:   engine.Spec{Security: engine.Security{EngineSocket: true}},
			want: base(func(b *containerBody) {
				b.SELinux, b.UserNS = []string{"disable"}, &namespace{Mode: "host"}
			}),
		},
		"privileged": {
			reason: "it is privileged in the host's user namespace only",
			spec:   engine.Spec{Security: engine.Security{Privileged: true}},
			want:   base(func(b *containerBody) { b.Privileged, b.UserNS = true, &namespace{Mode: "host"} }),
		},
		"resources": {
			reason: "no swap in addition to the memory",
			spec:   engine.Spec{Resources: engine.Resources{MemoryBytes: 1 << 30, MilliCPU: 1500, Pids: 100, OpenFiles: 4096}},
			want: base(func(b *containerBody) {
				b.Resources = &resourcesBody{
					CPU: &cpuBody{Quota: 150_000, Period: 100_000}, Memory: &memoryBody{Limit: 1 << 30, Swap: 1 << 30}, Pids: &pidsBody{Limit: 100},
				}
				b.Rlimits = []rlimitBody{
					{Type: "nofile", Soft: 4096, Hard: 4096}, {Type: "nproc", Soft: someProcesses, Hard: someProcesses},
				}
			}),
		},
		"mounts": {
			reason: "volumes may hold programs and devices, and a tmpfs is empty",
			spec: engine.Spec{Mounts: []engine.Mount{
				{Type: engine.MountTmpfs, Target: "/run"},
				{Type: engine.MountVolume, Target: "/var"},
				{Type: engine.MountBind, Source: "/lib/modules", Target: "/lib/modules", ReadOnly: true},
			}},
			want: base(func(b *containerBody) {
				b.Mounts = []mountBody{
					{Type: "tmpfs", Source: "tmpfs", Destination: "/run", Options: []string{"rw", "exec", "notmpcopyup"}},
					{Type: "bind", Source: "/lib/modules", Destination: "/lib/modules", Options: []string{"ro", "rbind"}},
				}
				b.Volumes = []volumeMount{{Dest: "/var", Options: []string{"rw", "suid", "dev", "exec"}}}
			}),
		},
		"CDI devices": {
			reason: "Podman has them among the devices",
			spec:   engine.Spec{CDIDevices: []string{"vendor.com/class=name"}},
			want:   base(func(b *containerBody) { b.Devices = []deviceBody{{Path: "vendor.com/class=name"}} }),
		},
		"network": {
			reason: "the static address is recorded, ports that are not given are the engine's to choose, and all addresses are none",
			spec: engine.Spec{
				Attachment: engine.Attachment{Network: "net", Addresses: []netip.Addr{static}},
				Ports: []engine.PortBinding{
					{HostAddress: netip.MustParseAddr("127.0.0.1"), HostPort: 6443, ContainerPort: 6443}, {ContainerPort: 80},
					{HostAddress: netip.IPv4Unspecified(), HostPort: 81, ContainerPort: 81},
				},
			},
			want: base(func(b *containerBody) {
				b.NetNS = &namespace{Mode: "bridge"}
				b.DNSSearch = []string{"."}
				b.Networks = map[string]perNetworkBody{"net": {StaticIPs: []netip.Addr{static}}}
				b.Annotations = map[string]string{addressAnnotation: "10.89.0.7"}
				b.Ports = []portBody{
					{HostIP: netip.MustParseAddr("127.0.0.1"), HostPort: 6443, ContainerPort: 6443, Protocol: "tcp"},
					{ContainerPort: 80, Protocol: "tcp"},
					{HostPort: 81, ContainerPort: 81, Protocol: "tcp"},
				}
			}),
		},
		"both families": {
			reason: "localhost is both, whatever the host's /etc/hosts has",
			spec:   engine.Spec{Attachment: engine.Attachment{Network: "net", Addresses: []netip.Addr{static, netip.MustParseAddr("fd00::7")}}},
			want: base(func(b *containerBody) {
				b.NetNS = &namespace{Mode: "bridge"}
				b.DNSSearch = []string{"."}
				b.Networks = map[string]perNetworkBody{"net": {StaticIPs: []netip.Addr{static, netip.MustParseAddr("fd00::7")}}}
				b.HostAdd = []string{"localhost:::1"}
				b.Annotations = map[string]string{addressAnnotation: "10.89.0.7,fd00::7"}
			}),
		},
		"stop signal": {
			reason: "a realtime signal is counted from the first that a C library leaves free",
			spec:   engine.Spec{StopSignal: "SIGRTMIN+3"},
			want:   base(func(b *containerBody) { b.StopSignal = 37 }),
		},
	}
	for name, c := range cases {
		got := must.Get(containerOf(c.spec))(t)
		if diff := cmp.Diff(c.want, got, comparers()); diff != "" {
			t.Errorf("%s: %s (-want +got):\n%s", name, c.reason, diff)
		}
	}
}

func TestStopSignal(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]int{"": 0, "SIGTERM": 15, "term": 15, "9": 9, "SIGRTMIN": 34, "RTMIN+3": 37, "SIGRTMAX-1": 63} {
		if got, err := stopSignal(name); err != nil || got != want {
			t.Errorf("%q is %d, %v, want %d", name, got, err, want)
		}
	}
	for _, name := range []string{"SIGNONSENSE", "SIGRTMIN+99", "65", "-1"} {
		if _, err := stopSignal(name); !errors.Is(err, engine.ErrInvalid) {
			t.Errorf("%q: %v, want it refused", name, err)
		}
	}
}

func TestLeaseRange(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"10.89.0.0/24", "198.18.30.8/29", "10.0.0.0/8", "fd00:1::/64"} {
		subnet := netip.MustParsePrefix(text)
		dynamic := engine.DynamicSlice(subnet)
		lease := leaseOf(dynamic)
		if got := lease.prefix(subnet); got != dynamic {
			t.Errorf("%s: range %+v is read as %s, want %s", text, lease, got, dynamic)
		}
		last := lease.End
		if !dynamic.Contains(last) || !subnet.Contains(last.Next()) {
			t.Errorf("%s: range ends with %s, want all but the last address of the subnet", text, last)
		}
	}
	if lease := leaseOf(netip.Prefix{}); lease != nil {
		t.Errorf("range %+v of no slice, want none", lease)
	}
	other := leaseRange{Start: netip.MustParseAddr("10.89.0.10"), End: netip.MustParseAddr("10.89.0.20")}
	if got := other.prefix(netip.MustParsePrefix("10.89.0.0/24")); got.String() != "10.89.0.0/27" {
		t.Errorf("range %+v is read as %s, want the smallest slice with all of it", other, got)
	}
}

func TestReserved(t *testing.T) {
	t.Parallel()
	subnets := []engine.Subnet{
		{Prefix: netip.MustParsePrefix("10.89.0.0/24"), Gateway: netip.MustParseAddr("10.89.0.1")},
		{Prefix: netip.MustParsePrefix("fd00::/64"), Gateway: netip.MustParseAddr("fd00::1")},
	}
	for text, want := range map[string]bool{
		"10.89.0.0": true, "10.89.0.1": true, "10.89.0.255": true, "10.89.0.2": false, "10.89.1.255": false,
		"fd00::": true, "fd00::1": true, "fd00::ffff:ffff:ffff:ffff": false,
	} {
		err := reserved(subnets, []netip.Addr{netip.MustParseAddr(text)})
		if got := engine.IsTaken(err, engine.ResourceAddress); got != want {
			t.Errorf("%s is the network's own: %v, want %v", text, got, want)
		}
	}
}

func TestKindOf(t *testing.T) {
	t.Parallel()
	answer := func(status int, cause error) error {
		return fmt.Errorf("do: %w", &errorhandling.ErrorModel{Because: cause.Error(), Message: "its own words", ResponseCode: status})
	}
	cases := map[string]struct {
		err  error
		want error
	}{
		"status":               {answer(404, errors.New("whatever")), engine.ErrNotFound},
		"cause":                {answer(500, define.ErrNoSuchCtr), engine.ErrNotFound},
		"program":              {answer(500, define.ErrOCIRuntimeNotFound), engine.ErrInvalid},
		"unknown":              {answer(500, errors.New("whatever")), nil},
		"gone in mid-sentence": {io.ErrUnexpectedEOF, engine.ErrUnavailable},
		"caller gave up":       {context.Canceled, nil},
	}
	for name, c := range cases {
		if got := kindOf(c.err); !errors.Is(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	dialing := &url.Error{Op: "Get", URL: "http://d/v5.8.2/libpod/containers/json?filters=%7B%7D", Err: &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}}
	if err := typed(dialing); !errors.Is(err, engine.ErrUnavailable) || err.Error() != "dial: connection refused" {
		t.Errorf("Got %v", err)
	}
	err := typed(answer(404, define.ErrNoSuchCtr))
	if err.Error() != "do: its own words" || !isCause(err, define.ErrNoSuchCtr) || isCause(err, define.ErrNoSuchVolume) {
		t.Errorf("error %q, want Podman's words and cause", err)
	}
}

// TestWords has the texts that Podman 4.3 and 5.4 answer with; the conformance
// suite has those of the engine at hand.
func TestWords(t *testing.T) {
	t.Parallel()
	address, ok := saysAddressTaken(errors.New("IPAM error: requested ip address 10.89.0.9 is already allocated to container ID aa38"))
	if !ok || address != netip.MustParseAddr("10.89.0.9") {
		t.Errorf("address %s, %v, want the one that is taken", address, ok)
	}
	if _, ok := saysAddressTaken(errors.New("IPAM error: requested ip address 10.89.0.9 is outside of the range")); ok {
		t.Error("an address outside the range counts as taken")
	}
	for text, want := range map[string]bool{
		"cannot listen on the TCP port: listen tcp4 127.0.0.1:6443: bind: address already in use":  true,
		"rootlessport listen tcp 0.0.0.0:6443: bind: address already in use":                       true,
		"cannot listen on the TCP port: listen tcp4 127.0.0.1:64430: bind: address already in use": false,
		"cannot listen on the TCP port: listen tcp4 127.0.0.1:6443: bind: permission denied":       false,
	} {
		if got := saysPortTaken(errors.New(text), 6443); got != want {
			t.Errorf("%q says that port 6443 is taken: %v, want %v", text, got, want)
		}
	}
}

func TestIsLoopback(t *testing.T) {
	t.Parallel()
	for domain, want := range map[string]bool{
		"localhost:5000": true, "127.0.0.1:5000": true, "127.1.2.3": true, "[::1]:5000": true, "localhost": true,
		"docker.io": false, "registry.example:5000": false, "10.0.0.1:5000": false, "localhost.example": false,
	} {
		if got := isLoopback(domain); got != want {
			t.Errorf("%s is on the engine's host: %v, want %v", domain, got, want)
		}
	}
}

func TestTranslate(t *testing.T) {
	t.Parallel()
	event := func(kind, action string, attributes map[string]string) message {
		out := message{Type: kind, Action: action, TimeNano: 1}
		out.Actor.ID, out.Actor.Attributes = "0f", attributes
		return out
	}
	own := map[string]string{"name": "a", "image": "i", "containerExitCode": "137", "podId": "", "label": "x"}
	cases := map[string]struct {
		reason  string
		message message
		want    engine.Event
		ok      bool
	}{
		"died": {
			reason:  "labels come mixed with Podman's own attributes",
			message: event("container", "died", own), ok: true,
			want: engine.Event{Kind: engine.EventDie, ContainerID: "0f", Container: "a", Labels: map[string]string{"label": "x"}, ExitCode: 137},
		},
		"connect, 4.3": {
			reason:  "the actor is the container, the network is not reported",
			message: event("network", "connect", map[string]string{"name": "a"}), ok: true,
			want: engine.Event{Kind: engine.EventConnect, ContainerID: "0f", Container: "a"},
		},
		"connect, 5.4": {
			reason:  "the network is an attribute",
			message: event("network", "connect", map[string]string{"name": "a", "network": "net"}), ok: true,
			want: engine.Event{Kind: engine.EventConnect, ContainerID: "0f", Container: "a", Network: "net"},
		},
		"network removed": {
			reason:  "the filter for removed containers lets it pass",
			message: event("network", "remove", nil),
		},
		"exec": {
			reason:  "what reading causes is not in the list",
			message: event("container", "exec", own),
		},
	}
	for name, c := range cases {
		got, ok := translate(c.message)
		if diff := cmp.Diff(c.want, got, cmpopts.IgnoreFields(engine.Event{}, "Time")); ok != c.ok || ok && diff != "" {
			t.Errorf("%s: %s: reported %v (-want +got):\n%s", name, c.reason, ok, diff)
		}
	}
}

func TestDemultiplex(t *testing.T) {
	t.Parallel()
	frame := func(stream byte, text string) string {
		return string([]byte{stream, 0, 0, 0, 0, 0, 0, byte(len(text))}) + text
	}
	got, err := adapter.Streams(engine.Command{}, dropAttachErrors)(strings.NewReader(frame(1, "out") + frame(2, "err") + frame(1, "") + frame(1, "put") +
		frame(2, "Error: write unixpacket @->/proc/self/fd/14/attach: write: broken pipe\n")))
	if err != nil || string(got.Stdout) != "output" || string(got.Stderr) != "err" {
		t.Errorf("stdout %q, stderr %q, %v, want them apart, without Podman's own words", got.Stdout, got.Stderr, err)
	}
}

func TestWhen(t *testing.T) {
	t.Parallel()
	if !when(time.Unix(-62135596800, 0)).IsZero() || when(time.Unix(1, 0)).IsZero() {
		t.Error("the year 1 stands for no time, and no other does")
	}
}

func TestNewRefusesOtherSchemes(t *testing.T) {
	t.Parallel()
	for _, uri := range []string{"", "/run/podman/podman.sock", "http://host", "ssh//host", "tcp://user:secret@ho st"} {
		_, err := New(Options{URI: uri})
		if !errors.Is(err, engine.ErrInvalid) || strings.Contains(err.Error(), "secret") {
			t.Errorf("%q: %v, want it refused, without the password", uri, err)
		}
	}
}

func TestLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		answer := make(chan struct{})
		late := limited(channelTimeout, func(context.Context, string, string) (net.Conn, error) {
			<-answer
			return there, nil
		})
		if conn, err := late(t.Context(), "tcp", "d:80"); conn != nil || !errors.Is(typed(err), engine.ErrUnavailable) {
			t.Errorf("dial that does not end = %v, %v, want %v", conn, err, engine.ErrUnavailable)
		}
		close(answer)
		if _, err := here.Read(make([]byte, 1)); err == nil {
			t.Error("the connection that came late is open")
		}
		if conn, err := late(t.Context(), "tcp", "d:80"); conn != there || err != nil {
			t.Errorf("dial = %v, %v, want the connection", conn, err)
		}
	})
}
