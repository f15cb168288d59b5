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

package memory

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const nodes = "/api/v1/nodes"

func TestOperationsOfRequests(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, method, target, contentType string
		want                                string
	}{
		"List":        {"A collection is listed.", http.MethodGet, nodes, "", "APIServer/list"},
		"Watch":       {"A watch is a list that stays.", http.MethodGet, nodes + "?watch=true", "", "APIServer/watch"},
		"Get":         {"A name is one object.", http.MethodGet, nodes + "/a", "", "APIServer/get"},
		"Create":      {"POST creates.", http.MethodPost, "/apis/apps/v1/namespaces/a/daemonsets", "", "APIServer/create"},
		"Patch":       {"PATCH patches.", http.MethodPatch, nodes + "/a", "", "APIServer/patch"},
		"Update":      {"PUT updates.", http.MethodPut, nodes + "/a", "", "APIServer/update"},
		"Delete":      {"DELETE deletes.", http.MethodDelete, nodes + "/a", "", "APIServer/delete"},
		"PortForward": {"KubeadmControlPlane reaches etcd by it.", http.MethodPost, "/api/v1/namespaces/a/pods/b/portforward", "", "APIServer/portforward"},
		"Probe":       {"Cluster API's probe is no resource.", http.MethodGet, "/", "", "APIServer/get"},
		"Etcd":        {"gRPC is for etcd.", http.MethodPost, "/etcdserverpb.Cluster/MemberList", "application/grpc", "Etcd/MemberList"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			request := httptest.NewRequestWithContext(t.Context(), tc.method, tc.target, http.NoBody)
			request.Header.Set("Content-Type", tc.contentType)
			if tc.contentType != "" {
				request.ProtoMajor = 2
			}
			injector := NewInjector(t.Context())
			injector.Set(FaultConfig{Rules: []FaultRule{{Operation: tc.want, Fault: Error, Rate: 1}}})
			injector.disturb(http.NotFoundHandler(), nil).ServeHTTP(httptest.NewRecorder(), request)
			if diff := cmp.Diff(map[Fault]int{Error: 1}, injector.Struck()); diff != "" {
				t.Errorf("\n%s\nfaults of %s: -want, +got:\n%s", tc.reason, tc.want, diff)
			}
		})
	}
}

func TestRequestFaults(t *testing.T) {
	t.Parallel()
	type result struct {
		Status           int
		Message          string
		Handled, Crashed int
	}
	cases := map[string]struct {
		reason, rules, target string
		want                  result
	}{
		"None":      {"A request of another operation is not disturbed.", "{operation: APIServer/create, fault: Error, rate: 1}", nodes, result{200, "answer", 1, 0}},
		"Error":     {"It has no effect.", "{operation: APIServer/list, fault: Error, rate: 1}", nodes, result{503, "injected fault of APIServer/list", 0, 0}},
		"All":       {"A star is each verb.", "{operation: APIServer/*, fault: Error, rate: 1}", nodes, result{503, "injected fault of APIServer/list", 0, 0}},
		"Engine":    {"The star of the engine is none.", "{operation: '*', fault: Error, rate: 1}", nodes, result{200, "answer", 1, 0}},
		"Lost":      {"It has its effect, and an error is the answer.", "{operation: APIServer/list, fault: Lost, rate: 1}", nodes, result{504, "injected fault of APIServer/list", 1, 0}},
		"Crash":     {"A control plane ends after the answer.", "{operation: APIServer/list, fault: Crash, rate: 1}", nodes, result{200, "answer", 1, 1}},
		"Delay":     {"The answer is that of the handler.", "{operation: APIServer/list, fault: Delay, rate: 1, duration: 1ms}", nodes, result{200, "answer", 1, 0}},
		"Watch":     {"The connection of a watch ends with the control plane.", "{operation: APIServer/watch, fault: Crash, rate: 1}", nodes + "?watch=true", result{0, "", 0, 1}},
		"LostWatch": {"A watch has no answer that could be lost.", "{operation: APIServer/*, fault: Lost, rate: 1}", nodes + "?watch=true", result{200, "answer", 1, 0}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got result
			injector := NewInjector(t.Context())
			injector.Set(must.Get(ParseFaults("rules: [" + tc.rules + "]"))(t))
			server := httptest.NewServer(injector.disturb(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
				got.Handled++
				_, _ = io.WriteString(w, "answer")
			}), func(*http.Request) { got.Crashed++ }))
			request := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+tc.target, http.NoBody))(t)
			response, err := server.Client().Do(request)
			if err == nil {
				got.Status, got.Message = response.StatusCode, string(must.Get(io.ReadAll(response.Body))(t))
				must.Succeed(t, response.Body.Close())
			}
			server.Close()
			if strings.Contains(got.Message, tc.want.Message) {
				got.Message = tc.want.Message
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}
