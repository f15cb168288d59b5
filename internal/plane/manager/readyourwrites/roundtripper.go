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

package readyourwrites

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apiserver/pkg/endpoints/request"
	toolscache "k8s.io/client-go/tools/cache"
)

const (
	// limit of the wait for the caches. An event takes some milliseconds, or seconds on a host where
	// ten clusters start; a watch that broke is replaced within a second.
	// MachineSets delete the infrastructure of a Machine that the cache does not show.
	limit = 30 * time.Second
	// interval between two checks of the caches.
	interval = time.Millisecond
)

// Wrap is a rest.Config's: writes through the round tripper return when the informers
// show them. It reads JSON only, so the config must ask for JSON.
func (i *Informers) Wrap(next http.RoundTripper) http.RoundTripper {
	return roundTripper{next: next, informers: i, requests: request.RequestInfoFactory{
		APIPrefixes: sets.NewString("api", "apis"), GrouplessAPIPrefixes: sets.NewString("api"),
	}}
}

type roundTripper struct {
	next      http.RoundTripper
	informers *Informers
	// requests names resources in paths as the API server does.
	requests request.RequestInfoFactory
}

// WrappedRoundTripper is for what looks for the transport below.
func (t roundTripper) WrappedRoundTripper() http.RoundTripper { return t.next }

func (t roundTripper) RoundTrip(req *http.Request) (*http.Response, error) {
	response, err := t.next.RoundTrip(req)
	if err != nil || req.Method == http.MethodGet || response.StatusCode >= http.StatusMultipleChoices {
		return response, err
	}
	info, err := t.requests.NewRequestInfo(req)
	if err != nil || !isWrite(req, info) {
		return response, nil //nolint:nilerr // The API server has answered a path that names no resource.
	}
	body, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("read the response: %w", err)
	}
	response.Body = io.NopCloser(bytes.NewReader(body))
	resource := schema.GroupResource{Group: info.APIGroup, Resource: info.Resource}
	switch written, err := parse(body, info); {
	case err != nil: // not JSON
		t.informers.exceeded.WithLabelValues(resource.Group, resource.Resource).Inc()
	case written.uid != "": // a token has none
		t.await(req, resource, written)
	}
	return response, nil
}

// isWrite reports whether a request writes one object that a cache may have.
func isWrite(req *http.Request, info *request.RequestInfo) bool {
	switch info.Verb {
	case "create", "update", "patch", "delete":
		return info.IsResourceRequest && !req.URL.Query().Has("dryRun")
	}
	return false
}

func (t roundTripper) await(req *http.Request, resource schema.GroupResource, written write) {
	if t.informers.show(resource, written) {
		return
	}
	ticker, timeout := time.NewTicker(interval), time.NewTimer(limit)
	defer ticker.Stop()
	defer timeout.Stop()
	for !t.informers.show(resource, written) {
		select {
		case <-ticker.C:
		case <-req.Context().Done():
			return
		case <-timeout.C:
			t.informers.exceeded.WithLabelValues(resource.Group, resource.Resource).Inc()
			logr.FromContextOrDiscard(req.Context()).Info("Write is not visible in caches in time; controllers may act on stale objects",
				"resource", resource.String(), "object", written.key.String(), "waited", limit)
			return
		}
	}
}

// write is what caches show after a request.
type write struct {
	key toolscache.ObjectName
	uid types.UID
	// resourceVersion of the object, where it still exists.
	resourceVersion string
	labels          labels.Set
	// gone = the object does not exist any more.
	gone bool
}

// parse the body of a response, of which only objects and their deletions have a UID.
func parse(body []byte, info *request.RequestInfo) (write, error) {
	var object struct {
		metav1.PartialObjectMetadata
		// Details of a Status: the response to the deletion of an object without
		// finalizers.
		Details *metav1.StatusDetails `json:"details"`
	}
	if err := json.Unmarshal(body, &object); err != nil {
		return write{}, fmt.Errorf("decode the response: %w", err)
	}
	written := write{
		// A created object has no name in the path.
		key: toolscache.NewObjectName(info.Namespace, cmp.Or(info.Name, object.Name)),
		uid: object.UID, resourceVersion: object.ResourceVersion, labels: object.Labels,
		// The update that removes the last finalizer deletes.
		gone: object.DeletionTimestamp != nil && len(object.Finalizers) == 0,
	}
	if info.APIGroup == "" && info.Resource == "namespaces" {
		written.key.Namespace = "" // it is in none, though its path has its name there
	}
	if object.Kind == "Status" && object.Details != nil {
		written.uid, written.gone = object.Details.UID, true
	}
	return written, nil
}
