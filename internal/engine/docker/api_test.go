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

package docker_test

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/moby/moby/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/docker"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// The answers of API 1.41 and of 1.52, in which the fields of the first network are no longer
// repeated at the top.
const (
	oldContainer = `{"Id": "0f", "Name": "/a", "State": {"Status": "running"}, "NetworkSettings": {
		"Gateway": "172.18.0.1", "IPAddress": "172.18.0.2", "IPPrefixLen": 16, "MacAddress": "02:42:ac:12:00:02",
		"LinkLocalIPv6Address": "", "GlobalIPv6Address": "", "SecondaryIPAddresses": null,
		"Ports": {"6443/tcp": [{"HostIp": "127.0.0.1", "HostPort": "7443"}], "80/tcp": null},
		"Networks": {"net": {"IPAMConfig": null, "EndpointID": "ee", "Gateway": "172.18.0.1", "IPAddress": "172.18.0.2",
			"IPv6Gateway": "", "GlobalIPv6Address": "", "MacAddress": "02:42:ac:12:00:02"}}}}`
	newContainer = `{"Id": "0f", "Name": "/a", "State": {"Status": "running"}, "NetworkSettings": {
		"Ports": {"6443/tcp": [{"HostIp": "127.0.0.1", "HostPort": "7443"}], "80/tcp": null},
		"Networks": {"net": {"IPAMConfig": {}, "EndpointID": "ee", "Gateway": "172.18.0.1", "IPAddress": "172.18.0.2",
			"IPv6Gateway": "", "GlobalIPv6Address": "", "MacAddress": "02:42:ac:12:00:02", "GwPriority": 0}}}}`

	oldNetwork = `{"Id": "ff", "Name": "net", "Driver": "bridge", "EnableIPv6": true, "IPAM": {"Driver": "default", "Config": [
		{"Subnet": "fd00::/64", "Gateway": "fd00::1/64"}, {"Subnet": "172.18.0.0/16", "Gateway": "172.18.0.1"}]}}`
	newNetwork = `{"Id": "ff", "Name": "net", "Driver": "bridge", "EnableIPv4": true, "EnableIPv6": true,
		"IPAM": {"Driver": "default", "Config": [
			{"Subnet": "fd00::/64", "IPRange": "", "Gateway": "fd00::1"},
			{"Subnet": "172.18.0.0/16", "IPRange": "", "Gateway": "172.18.0.1"}]},
		"Status": {"IPAM": {"Subnets": {"172.18.0.0/16": {"IPsInUse": 3, "DynamicIPsAvailable": 65533}}}}}`
)

// answering is an engine that answers requests of one version of the API, and only of that. An
// error is that of a value it refuses.
func answering(t *testing.T, version string, answers map[string]any) *docker.Engine {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set("Api-Version", version)
		switch answer := answers[strings.TrimPrefix(request.URL.Path, "/v"+version)].(type) {
		case string:
			_, _ = io.WriteString(w, answer)
		case error:
			w.WriteHeader(http.StatusBadRequest)
			_, _ = fmt.Fprintf(w, `{"message": %q}`, answer)
		default:
			if request.URL.Path != "/_ping" {
				w.WriteHeader(http.StatusNotFound)
				_, _ = fmt.Fprintf(w, `{"message": "no answer for %s"}`, request.URL.Path)
			}
		}
	}))
	t.Cleanup(server.Close)
	return must.Get(docker.New("", client.WithHost("tcp://"+server.Listener.Addr().String())))(t)
}

func TestAPIVersions(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, version, container, network string
	}{
		"Docker 20.10": {"The gateway of an IPv6 subnet has a prefix length.", "1.41", oldContainer, oldNetwork},
		"Docker 29":    {"Addresses are with their network only.", "1.52", newContainer, newNetwork},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng := answering(t, tc.version, map[string]any{
				"/containers/a/json": tc.container, "/networks/net": tc.network, "/networks": "[" + tc.network + "]",
			})
			container := must.Get(eng.InspectContainer(t.Context(), "a"))(t)
			if diff := cmp.Diff(engine.Container{
				ID: "0f", Name: "a", Status: engine.StatusRunning, Restart: engine.RestartNever,
				Networks: map[string]engine.Endpoint{"net": {Addresses: []netip.Addr{netip.MustParseAddr("172.18.0.2")}}},
				Ports:    []engine.PortBinding{{HostAddress: netip.MustParseAddr("127.0.0.1"), HostPort: 7443, ContainerPort: 6443}},
			}, container, cmpopts.EquateComparable(netip.Addr{})); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			want := engine.Network{ID: "ff", Name: "net", Driver: "bridge", Subnets: []engine.Subnet{
				{Prefix: netip.MustParsePrefix("172.18.0.0/16"), Gateway: netip.MustParseAddr("172.18.0.1")},
				{Prefix: netip.MustParsePrefix("fd00::/64"), Gateway: netip.MustParseAddr("fd00::1")},
			}}
			inspected := must.Get(eng.InspectNetwork(t.Context(), "net"))(t)
			listed := must.Get(eng.ListNetworks(t.Context(), nil))(t)
			for _, got := range append(listed, inspected) {
				if diff := cmp.Diff(want, got, cmpopts.EquateComparable(netip.Addr{}, netip.Prefix{})); diff != "" {
					t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
				}
			}
		})
	}
}

func TestUnsupportedAPIVersion(t *testing.T) {
	t.Parallel()
	for _, version := range []string{"", "1.24", "1.40"} {
		_, err := answering(t, version, nil).InspectContainer(t.Context(), "a")
		if !errors.Is(err, engine.ErrUnavailable) || !strings.Contains(err.Error(), "requires Docker Engine 20.10 (API 1.41) or later") {
			t.Errorf("API version %q: got %v", version, err)
		}
	}
}

// Docker before version 23 keeps its ID where deleted data do not take it with them.
func TestStorageID(t *testing.T) {
	t.Parallel()
	storageID := func(id, network string) string {
		eng := answering(t, "1.41", map[string]any{
			"/version": `{"Version": "20.10.24", "ApiVersion": "1.41"}`, "/info": fmt.Sprintf(`{"ID": %q}`, id),
			"/networks/none": fmt.Sprintf(`{"Name": "none", "Id": %q}`, network),
		})
		return must.Get(eng.Info(t.Context()))(t).StorageID
	}
	first := storageID("A", "1")
	for name, tc := range map[string]struct {
		reason, id, network string
		same                bool
	}{
		"same":   {"It stays.", "A", "1", true},
		"wiped":  {"Its permanent network is a new one.", "A", "2", false},
		"cloned": {"Virtual machines have clones of the network.", "B", "1", false},
	} {
		if got := storageID(tc.id, tc.network); (got == first) != tc.same || got == "" {
			t.Errorf("%s: %s\ngot %q, the first was %q", name, tc.reason, got, first)
		}
	}
}

// Docker takes static addresses only where a subnet was configured, and says so at start, with
// the status of any other value that it refuses.
func TestStartWithoutStaticAddresses(t *testing.T) {
	t.Parallel()
	const noStatic = "user specified IP address is supported only when connecting to networks with user configured subnets"
	for message, want := range map[string]bool{
		"invalid config for network mine: invalid endpoint settings:\n" + noStatic: true,
		noStatic: true, // Docker 20.10
		`exec: "absent": executable file not found in $PATH`: false,
	} {
		const container = `{"Id": "1", "Name": "/a", "State": {"Status": "created"}}`
		eng := answering(t, "1.41", map[string]any{
			"/containers/a/json": container, "/containers/1/json": container, "/containers/1/start": errors.New(message),
			"/containers/json": "[]",
		})
		err := eng.StartContainer(t.Context(), "a")
		if !errors.Is(err, engine.ErrInvalid) || errors.Is(err, engine.ErrNoStaticAddresses) != want {
			t.Errorf("%q: got %v, want that the network cannot serve: %v", message, err, want)
		}
	}
}
