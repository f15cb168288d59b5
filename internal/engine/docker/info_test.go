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
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine/docker"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// Docker before version 23 keeps its ID where deleted data do not take it with them.
func TestStorageID(t *testing.T) {
	t.Parallel()
	type answers struct{ id, network string }
	storageID := func(a answers) string {
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Api-Version", "1.41")
			_, path, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/"), "/")
			answer := map[string]map[string]string{
				"version": {"Version": "20.10.24", "ApiVersion": "1.41"}, "info": {"ID": a.id},
				"networks/none": {"Name": "none", "Id": a.network},
			}[path]
			must.Succeed(t, json.NewEncoder(w).Encode(answer))
		}))
		defer server.Close()
		eng := must.Get(docker.New("", client.WithHost("tcp://"+server.Listener.Addr().String())))(t)
		return must.Get(eng.Info(t.Context()))(t).StorageID
	}
	first := storageID(answers{"A", "1"})
	cases := map[string]struct {
		reason string
		answers
		same bool
	}{
		"Same":   {"It stays.", answers{"A", "1"}, true},
		"Wiped":  {"Its permanent network is a new one.", answers{"A", "2"}, false},
		"Cloned": {"Virtual machines have clones of the network.", answers{"B", "1"}, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := storageID(tc.answers); (got == first) != tc.same || got == "" {
				t.Errorf("%s\ngot %q, the first was %q", tc.reason, got, first)
			}
		})
	}
}
