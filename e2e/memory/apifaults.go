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
	"encoding/json"
	"fmt"
	"net/http"
	"path"
	"strconv"

	"google.golang.org/grpc/codes"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
)

// disturb the requests to the API servers and etcd of clusters. crash lets a control plane of the cluster end
// that a request is for.
func (i *Injector) disturb(next http.Handler, crash func(*http.Request)) http.Handler {
	requests := &request.RequestInfoFactory{APIPrefixes: map[string]sets.Empty{"api": {}, "apis": {}}, GrouplessAPIPrefixes: map[string]sets.Empty{"api": {}}}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		operation := operationOf(requests, r)
		possible := []Fault{Error, Delay, Lost, Crash}
		if lasts(operation) {
			possible = []Fault{Error, Delay, Crash}
		}
		faults, delay := i.strike(operation, possible...)
		i.wait(delay, r.Context().Done())
		switch {
		case faults[Error]:
			refuse(w, r, apierrors.NewServiceUnavailable(injected(operation)))
		case faults[Lost]:
			next.ServeHTTP(unanswered{header: http.Header{}}, r)
			refuse(w, r, apierrors.NewTimeoutError(injected(operation), 0))
		case faults[Crash] && lasts(operation):
			// It would have no end; its client sees that of the connection.
			crash(r)
			panic(http.ErrAbortHandler)
		default:
			next.ServeHTTP(w, r)
		}
		if faults[Crash] {
			crash(r)
		}
	})
}

func injected(operation string) string { return fmt.Sprintf("injected fault of %s", operation) }

// operationOf a request: APIServer/VERB or Etcd/METHOD.
func operationOf(requests *request.RequestInfoFactory, r *http.Request) string {
	if isEtcd(r) {
		return etcdPrefix + path.Base(r.URL.Path)
	}
	info, err := requests.NewRequestInfo(r)
	switch {
	case err != nil:
		return apiServerPrefix + r.Method
	case apiServerPrefix+info.Subresource == portForwardOperation:
		return portForwardOperation
	default:
		return apiServerPrefix + info.Verb
	}
}

// refuse a request with an error, as the API server or gRPC has it.
func refuse(w http.ResponseWriter, r *http.Request, err *apierrors.StatusError) {
	if isEtcd(r) {
		w.Header().Set("Content-Type", "application/grpc")
		w.Header().Set("Grpc-Status", strconv.Itoa(int(codes.Unavailable)))
		w.Header().Set("Grpc-Message", err.ErrStatus.Message)
		w.WriteHeader(http.StatusOK)
		return
	}
	status := err.ErrStatus
	status.TypeMeta = metav1.TypeMeta{APIVersion: "v1", Kind: "Status"}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(int(status.Code))
	// The client may be gone.
	_ = json.NewEncoder(w).Encode(status)
}

// unanswered takes an answer that no client gets.
type unanswered struct{ header http.Header }

func (u unanswered) Header() http.Header             { return u.header }
func (unanswered) WriteHeader(int)                   {}
func (unanswered) Write(content []byte) (int, error) { return len(content), nil }
func (unanswered) Flush()                            {}
