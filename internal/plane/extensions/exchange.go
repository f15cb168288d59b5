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

package extensions

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"

	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
)

const (
	// MaxResponseBytes is the limit of a response of a Runtime Extension. The longest ones have the
	// patches of a Cluster's templates; the API server accepts requests of up to 3 MiB.
	// +limit
	MaxResponseBytes = 4 << 20
	// MaxMessageBytes is the limit of the message of a Runtime Extension, which is cut. Conditions
	// that have it are limited to 32 KiB.
	// +limit
	MaxMessageBytes = 2 << 10
	// maxHeaderBytes of a response, which has nothing to say in its header.
	maxHeaderBytes = 64 << 10
	// maxErrorBytes of the body of an HTTP error are in the error.
	maxErrorBytes = 256
)

// exchange is a request and the response to it.
type exchange struct {
	// hook is that of request and response, served is the version of it that the extension has.
	hook, served runtimecatalog.GroupVersionHook
	request      runtime.Object
	response     runtimehooksv1.ResponseObject
}

// exchange sends the request in the version that the extension has, and reads the response. What
// fails there is a *CallError; other errors are of the plane.
func (c *Client) exchange(ctx context.Context, s *server, h handler, x exchange) error {
	request, response, err := c.translate(ctx, x)
	if err != nil {
		return err
	}
	kind, err := c.catalog.Request(x.served)
	if err != nil {
		return fmt.Errorf("find request: %w", err)
	}
	request.GetObjectKind().SetGroupVersionKind(kind)
	body, err := json.Marshal(request)
	if err != nil {
		return fmt.Errorf("encode request: %w", err)
	}
	target := s.url(runtimecatalog.GVHToPath(x.served, h.name), h.timeout)
	ctx, cancel := context.WithTimeoutCause(ctx, h.timeout, fmt.Errorf("no response within %s: %w", h.timeout, context.DeadlineExceeded))
	defer cancel()
	answer, err := s.post(ctx, target, body)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(answer, response); err != nil {
		return &CallError{URL: target, Err: fmt.Errorf("decode response: %w", err)}
	}
	if response != runtime.Object(x.response) {
		if err := c.catalog.Convert(response, x.response, ctx); err != nil {
			return fmt.Errorf("convert response from %s: %w", x.served.Version, err)
		}
	}
	x.response.SetMessage(cut(x.response.GetMessage(), MaxMessageBytes))
	return nil
}

// translate returns the request in the version that the extension has, and where to decode its
// response.
func (c *Client) translate(ctx context.Context, x exchange) (request, response runtime.Object, err error) {
	if x.hook == x.served {
		return x.request, x.response, nil
	}
	if request, err = c.catalog.NewRequest(x.served); err != nil {
		return nil, nil, fmt.Errorf("create request: %w", err)
	}
	if err := c.catalog.Convert(x.request, request, ctx); err != nil {
		return nil, nil, fmt.Errorf("convert request to %s: %w", x.served.Version, err)
	}
	if response, err = c.catalog.NewResponse(x.served); err != nil {
		return nil, nil, fmt.Errorf("create response: %w", err)
	}
	return request, response, nil
}

// post sends a request and returns the body of the response.
func (s *server) post(ctx context.Context, target string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, target, bytes.NewReader(body))
	if err != nil {
		return nil, fmt.Errorf("create HTTP request: %w", err)
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := s.client.Do(request)
	if err != nil {
		return nil, unanswered(target, s.explain(err))
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		beginning, _ := io.ReadAll(io.LimitReader(response.Body, maxErrorBytes)) // what there is of it
		return nil, &CallError{URL: target, Err: &StatusError{Code: response.StatusCode, Body: strings.ToValidUTF8(string(beginning), "")}}
	}
	answer, err := io.ReadAll(http.MaxBytesReader(nil, response.Body, MaxResponseBytes))
	if large := (*http.MaxBytesError)(nil); errors.As(err, &large) {
		return nil, &CallError{URL: target, Err: &ResponseTooLargeError{Limit: MaxResponseBytes}}
	}
	if err != nil {
		return nil, unanswered(target, err)
	}
	return answer, nil
}

// cut a text to a number of bytes.
func cut(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	const ellipsis = "…"
	return strings.ToValidUTF8(text[:limit-len(ellipsis)], "") + ellipsis
}
