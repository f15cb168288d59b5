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

package up_test

import (
	"encoding/json"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestUpPassesTheProxyOn(t *testing.T) {
	t.Parallel()
	const proxy, ranges = "http://joe:hunter2@proxy.example.com:3128", "10.244.0.0/16,10.128.0.0/12,172.30.0.0/16,.svc,.cluster.local"
	cases := map[string]struct {
		reason string
		given  map[string]string
		want   []infrav1.EnvironmentVariable
		line   string
	}{
		"none":     {"There is nothing to pass on.", map[string]string{"NO_PROXY": "example.com"}, nil, ""},
		"loopback": {"It would be the node itself.", map[string]string{"HTTP_PROXY": "http://localhost:3128", "https_proxy": "127.0.0.1:3128"}, nil, "HTTP_PROXY, HTTPS_PROXY not configured"},
		"one": {
			"Programs read one spelling or the other.", map[string]string{"https_proxy": proxy},
			[]infrav1.EnvironmentVariable{
				{Name: "HTTPS_PROXY", Value: proxy}, {Name: "https_proxy", Value: proxy},
				{Name: "NO_PROXY", Value: ranges}, {Name: "no_proxy", Value: ranges},
			}, "configured in nodes: HTTPS_PROXY, NO_PROXY, with the address ranges of the cluster",
		},
		"exceptions": {
			"The user's stay.", map[string]string{"HTTP_PROXY": proxy, "HTTPS_PROXY": "http://[::1]:3128", "NO_PROXY": "example.com"},
			[]infrav1.EnvironmentVariable{
				{Name: "HTTP_PROXY", Value: proxy}, {Name: "http_proxy", Value: proxy},
				{Name: "NO_PROXY", Value: "example.com," + ranges}, {Name: "no_proxy", Value: "example.com," + ranges},
			}, "configured in nodes: HTTP_PROXY, NO_PROXY, with the address ranges of the cluster; not configured: HTTPS_PROXY with a loopback address of this host",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := commandtest.New(t)
			must.Get(w.Engine.CreateNetwork(t.Context(), engine.NetworkSpec{
				Name: "capcon", Subnets: []netip.Prefix{netip.MustParsePrefix("172.30.0.0/16")},
			}))(t)
			w.Controllers, w.Environment = w.Become, tc.given
			code, out, errs := w.Run("up", "demo")
			if code != 0 || strings.Contains(out+errs, "hunter2") || !strings.Contains(errs, tc.line) || strings.Contains(errs, " proxy: ") != (tc.line != "") {
				t.Errorf("%s up ended with %d:\n%s%s", tc.reason, code, out, errs)
			}
			wantEnvironment(w, tc.reason, tc.want)
			w.Environment = map[string]string{"HTTP_PROXY": "http://other.example.com:3128"}
			w.Run("up", "demo", "--workers", "1")
			wantEnvironment(w, "A cluster that is there keeps what it has.", tc.want)
		})
	}
}

func wantEnvironment(w *commandtest.World, reason string, want []infrav1.EnvironmentVariable) {
	w.T.Helper()
	var got []infrav1.EnvironmentVariable
	if raw := variable(w, "environment"); raw != nil {
		must.Succeed(w.T, json.Unmarshal(raw, &got))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.T.Errorf("%s Environment (-want +got):\n%s", reason, diff)
	}
}

// A proxy that is not passed on costs nothing: no network is created for it.
func TestUpCreatesTheNetworkForItsProxy(t *testing.T) {
	t.Parallel()
	for proxy, want := range map[string]bool{"http://127.0.0.1:3128": false, "http://10.0.0.1:3128": true} {
		w := commandtest.New(t)
		w.Controllers, w.Environment = w.Become, map[string]string{"HTTPS_PROXY": proxy}
		w.Run("up", "demo", "--network", "other")
		_, err := w.Engine.InspectNetwork(t.Context(), "other")
		if (err == nil) != want {
			t.Errorf("%s: the network is %v", proxy, err)
		}
	}
}
