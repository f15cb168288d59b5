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

package adapter_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/netip"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func comparers() cmp.Option { return cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{}) }

func TestRedacted(t *testing.T) {
	t.Parallel()
	for endpoint, want := range map[string]string{
		"unix:///run/engine.sock":       "unix:///run/engine.sock",
		"tcp://user:secret@host:2376":   "tcp://user:xxxxx@host:2376",
		"tcp://user:secret@ho st:2376/": "invalid endpoint",
	} {
		if got := adapter.Redacted(endpoint); got != want {
			t.Errorf("%q is printed as %q, want %q", endpoint, got, want)
		}
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	if err := adapter.Wait(t.Context(), time.Millisecond); err != nil {
		t.Errorf("after the time: %v, want success", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if err := adapter.Wait(ended, time.Hour); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v, want its error", err)
	}
	tidy, release := adapter.Cleanup(ended)
	defer release()
	if _, bounded := tidy.Deadline(); tidy.Err() != nil || !bounded {
		t.Errorf("what is tidied up: error %v, bounded %v, want none and a bound", tidy.Err(), bounded)
	}
}

func TestEach(t *testing.T) {
	t.Parallel()
	for _, things := range []int{0, 1, 20} {
		var calls, now atomic.Int32
		done := make([]bool, things)
		adapter.Each(things, 3, func(i int) {
			if now.Add(1) > 3 {
				t.Error("more than three concurrently")
			}
			calls.Add(1)
			done[i] = true
			now.Add(-1)
		})
		if int(calls.Load()) != things || slices.Contains(done, false) {
			t.Errorf("%d calls, %v, want one for each of %d", calls.Load(), done, things)
		}
	}
}

func TestTerms(t *testing.T) {
	t.Parallel()
	got := adapter.Terms(map[string]string{"a": "1", "b": ""})
	slices.Sort(got)
	if diff := cmp.Diff([]string{"a=1", "b"}, got); diff != "" {
		t.Errorf("terms (-want +got):\n%s", diff)
	}
}

func TestCarries(t *testing.T) {
	t.Parallel()
	labels := map[string]string{"a": "1", "b": "2"}
	for name, c := range map[string]struct {
		selector map[string]string
		want     bool
	}{
		"all":      {map[string]string{"a": "1", "b": ""}, true},
		"nothing":  {nil, true},
		"pattern":  {map[string]string{"a": "*"}, false},
		"absent":   {map[string]string{"c": ""}, false},
		"mismatch": {map[string]string{"a": "2"}, false},
	} {
		if got := adapter.Carries(labels, c.selector); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestList(t *testing.T) {
	t.Parallel()
	name := func(v engine.Volume) string { return v.Name }
	observed := func(name string) engine.Volume { return engine.Volume{Name: name} }
	got := adapter.List([]string{"b", "a"}, observed, name)
	if diff := cmp.Diff([]engine.Volume{{Name: "a"}, {Name: "b"}}, got); diff != "" {
		t.Errorf("by name (-want +got):\n%s", diff)
	}
	if got := adapter.List(nil, observed, name); got == nil {
		t.Error("nothing is nil, want an empty list")
	}
}

func TestAddresses(t *testing.T) {
	t.Parallel()
	got := adapter.Addresses("10.0.0.1", "", "fd00::1/64", "none")
	want := []netip.Addr{netip.MustParseAddr("10.0.0.1"), netip.MustParseAddr("fd00::1")}
	if diff := cmp.Diff(want, got, comparers()); diff != "" {
		t.Errorf("a prefix length is dropped, and what is no address (-want +got):\n%s", diff)
	}
	if got := adapter.Join(got, ", "); got != "10.0.0.1, fd00::1" {
		t.Errorf("joined: %q", got)
	}
}

func TestBinding(t *testing.T) {
	t.Parallel()
	got := adapter.Distinct([]engine.PortBinding{
		adapter.Binding(netip.MustParseAddr("127.0.0.1"), 8443, 443, engine.ProtocolTCP), adapter.Binding(netip.IPv4Unspecified(), 8080, 80, engine.ProtocolTCP), adapter.Binding(netip.IPv6Unspecified(), 8080, 80, engine.ProtocolTCP),
	})
	want := []engine.PortBinding{
		{HostPort: 8080, ContainerPort: 80},
		{HostAddress: netip.MustParseAddr("127.0.0.1"), HostPort: 8443, ContainerPort: 443},
	}
	if diff := cmp.Diff(want, got, comparers()); diff != "" {
		t.Errorf("all addresses of both families are one binding, without an address (-want +got):\n%s", diff)
	}
}

func TestPortClaim(t *testing.T) {
	t.Parallel()
	local, other := netip.MustParseAddr("127.0.0.1"), netip.MustParseAddr("127.0.0.2")
	cause := errors.New("listen 127.0.0.1:6443: in use")
	holder := engine.Container{ID: "other", Name: "holder", Ports: []engine.PortBinding{{HostAddress: local, HostPort: 6443}}}
	cases := map[string]struct {
		reason    string
		requested engine.PortBinding
		holder    engine.Container
		says      bool
		want      string
	}{
		"same address": {
			reason:    "another container is named",
			requested: engine.PortBinding{HostAddress: local, HostPort: 6443},
			holder:    holder,
			want:      `host port 6443 is in use by container "holder": ` + cause.Error(),
		},
		"all addresses": {
			reason:    "all addresses include the one that is taken",
			requested: engine.PortBinding{HostPort: 6443},
			holder:    holder,
			want:      `host port 6443 is in use by container "holder": ` + cause.Error(),
		},
		"another address": {
			reason:    "both can be listened on",
			requested: engine.PortBinding{HostAddress: other, HostPort: 6443},
			holder:    holder,
		},
		"itself": {
			reason:    "a container does not keep itself from starting",
			requested: engine.PortBinding{HostPort: 6443},
			holder:    engine.Container{ID: "own", Ports: []engine.PortBinding{{HostPort: 6443}}},
		},
		"a process of the host": {
			reason:    "only the error's text shows it",
			requested: engine.PortBinding{HostPort: 6443},
			says:      true,
			want:      "host port 6443 is in use: " + cause.Error(),
		},
	}
	for name, c := range cases {
		claim := adapter.PortClaim{
			ID: "own", Ports: []engine.PortBinding{c.requested}, Cause: cause,
			Says: func(cause error, port uint16) bool { return c.says && adapter.NamesPort(cause.Error(), port) },
		}
		err := claim.Conflict([]engine.Container{c.holder})
		switch {
		case c.want == "" && err != nil:
			t.Errorf("%s: %v, want no conflict; %s", name, err, c.reason)
		case c.want != "" && (!engine.IsTaken(err, engine.ResourceHostPort) || !errors.Is(err, cause) || err.Error() != c.want):
			t.Errorf("%s: %v, want %s; %s", name, err, c.want, c.reason)
		}
	}
}

func TestSays(t *testing.T) {
	t.Parallel()
	if text := "bind: address already in use"; !adapter.Says(text, "allocated", "in use") || adapter.Says(text, "denied") || adapter.Says(text) {
		t.Errorf("%q has one of the phrases, and none of others", text)
	}
}

func TestNamesPort(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]bool{
		"listen 0.0.0.0:6443: in use": true, "to :64430 and :6443": true, "at :64430": false, "6443": false, "ends with :6443": true,
	} {
		if got := adapter.NamesPort(text, 6443); got != want {
			t.Errorf("%q names port 6443: %v, want %v", text, got, want)
		}
	}
}

func TestSource(t *testing.T) {
	t.Parallel()
	own, other := errors.New("the caller's disk is gone"), errors.New("broken connection")
	whole := &adapter.Source{Reader: strings.NewReader("content")}
	if content, err := io.ReadAll(whole); err != nil || string(content) != "content" {
		t.Errorf("read %q, %v, want the content", content, err)
	}
	if err := whole.Or(other); !errors.Is(err, other) {
		t.Errorf("after the end: %v, want the client's error", err)
	}
	failing := &adapter.Source{Reader: io.MultiReader(strings.NewReader("con"), iotest.ErrReader(own))}
	_, _ = io.ReadAll(failing)
	if err := failing.Or(other); !errors.Is(err, own) {
		t.Errorf("after the reader's error: %v, want that", err)
	}
}

func readAll(stream io.Reader) (engine.Output, error) {
	content, err := io.ReadAll(stream)
	return engine.Output{Stdout: content}, err
}

// pair is the two ends of a connection.
func pair(t *testing.T) (near, far *net.TCPConn) {
	t.Helper()
	listener, err := net.ListenTCP("tcp4", &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)})
	must.Succeed(t, err)
	defer func() { _ = listener.Close() }()
	near, err = net.DialTCP("tcp4", nil, listener.Addr().(*net.TCPAddr)) //nolint:forcetypeassert // it listens on TCP
	must.Succeed(t, err)
	far, err = listener.AcceptTCP()
	must.Succeed(t, err)
	t.Cleanup(func() { _ = far.Close() })
	return near, far
}

func TestCommunicate(t *testing.T) {
	t.Parallel()
	near, far := pair(t)
	go func() {
		_, _ = io.Copy(far, far)
		_ = far.Close()
	}()
	output, err := adapter.Communicate(t.Context(), near, strings.NewReader("input"), readAll)
	if err != nil || string(output.Stdout) != "input" {
		t.Errorf("%q, %v, want the input back after its end was signaled", output.Stdout, err)
	}

	broken := errors.New("not as agreed")
	near, _ = pair(t)
	_, err = adapter.Communicate(t.Context(), near, nil, func(io.Reader) (engine.Output, error) { return engine.Output{}, broken })
	if !errors.Is(err, broken) {
		t.Errorf("output that cannot be read: %v, want %v", err, broken)
	}

	ctx, cancel := context.WithCancel(t.Context())
	near, _ = pair(t)
	_, err = adapter.Communicate(ctx, near, nil, func(stream io.Reader) (engine.Output, error) {
		cancel()
		return readAll(stream)
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a command that hangs: %v, want the error of the context", err)
	}
}
