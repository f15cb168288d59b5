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
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/containers/podman/v5/libpod/define"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestPostNetwork(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason   string
		cause    error
		failures int
		// requests that are wanted, and whether the last one fails.
		requests int
		fails    bool
	}{
		"Created":          {"One request is enough.", errNoSuchInterface, 0, 1, false},
		"InterfaceAppears": {"Nothing was created: another request is the remedy.", errNoSuchInterface, 3, 4, false},
		"NeverWorks":       {"A host whose interfaces Podman cannot read is reported.", errNoSuchInterface, 100, interfaceAttempts, true},
		"Exists":           {"Any other cause stays one.", define.ErrNetworkExists, 1, 1, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Libpod-API-Version", "4.3.1")
				if !strings.HasSuffix(request.URL.Path, "/networks/create") {
					return
				}
				requests++
				if requests > tc.failures {
					_ = json.NewEncoder(w).Encode(networkBody{Name: "capcon"})
					return
				}
				w.WriteHeader(http.StatusInternalServerError)
				_ = json.NewEncoder(w).Encode(map[string]any{
					"cause": tc.cause.Error(), "message": "route ip+net: " + tc.cause.Error(), "response": http.StatusInternalServerError,
				})
			}))
			t.Cleanup(server.Close)
			e := must.Get(New(Options{URI: "tcp" + strings.TrimPrefix(server.URL, "http")}))(t)
			t.Cleanup(func() { _ = e.Close() })
			var created networkBody
			err := e.postNetwork(t.Context(), networkBody{Name: "capcon"}, &created)
			if requests != tc.requests || (err != nil) != tc.fails {
				t.Errorf("%s Want %d requests, and an error: %t; got %d, %v", tc.reason, tc.requests, tc.fails, requests, err)
			}
			if err == nil && created.Name != "capcon" {
				t.Errorf("%s Got %+v", tc.reason, created)
			}
		})
	}
}
