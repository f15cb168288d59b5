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

package daemon

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
)

func TestProbe(t *testing.T) {
	t.Parallel()
	for name, status := range map[string]int{"ready": http.StatusOK, "not ready": http.StatusServiceUnavailable} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(status) }))
			port := netip.MustParseAddrPort(strings.TrimPrefix(server.URL, "http://")).Port()
			id := &identity{opts: Options{Ports: Ports{Health: int(port)}}}
			if err := id.managerReady(t.Context()); (err == nil) != (status == http.StatusOK) {
				t.Errorf("probe of status %d: %v", status, err)
			}
			server.Close()
			if err := id.managerReady(t.Context()); err == nil {
				t.Error("probe succeeds without a server")
			}
		})
	}
}
