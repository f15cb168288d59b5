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
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/moby/moby/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/docker"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// Docker takes static addresses only where a subnet was configured, and says so at start, with
// the status of any other value that it refuses.
func TestStartWithoutStaticAddresses(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, message string
		want            bool
	}{
		"chosen by Docker": {
			"The network cannot serve.", "invalid config for network mine: invalid endpoint settings:\n" +
				"user specified IP address is supported only when connecting to networks with user configured subnets", true,
		},
		"Docker 20.10":  {"It says the same.", "user specified IP address is supported only when connecting to networks with user configured subnets", true},
		"other program": {"The network is not the cause.", `exec: "absent": executable file not found in $PATH`, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				w.Header().Set("Api-Version", "1.41")
				_, path, _ := strings.Cut(strings.TrimPrefix(request.URL.Path, "/"), "/")
				answer := map[string]any{
					"version":           map[string]string{"Version": "20.10.24", "ApiVersion": "1.41"},
					"containers/a/json": map[string]any{"Id": "1", "Name": "/a", "State": map[string]string{"Status": "created"}},
					"containers/1/json": map[string]any{"Id": "1", "Name": "/a", "State": map[string]string{"Status": "created"}},
				}[path]
				if strings.HasSuffix(path, "/start") {
					w.WriteHeader(http.StatusBadRequest)
					answer = map[string]string{"message": tc.message}
				}
				must.Succeed(t, json.NewEncoder(w).Encode(answer))
			}))
			defer server.Close()
			eng := must.Get(docker.New("", client.WithHost("tcp://"+server.Listener.Addr().String())))(t)
			err := eng.StartContainer(t.Context(), "a")
			if !errors.Is(err, engine.ErrInvalid) || errors.Is(err, engine.ErrNoStaticAddresses) != tc.want {
				t.Errorf("%s Got %v", tc.reason, err)
			}
		})
	}
}
