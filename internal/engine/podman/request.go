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
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"slices"

	"github.com/containers/podman/v5/libpod/define"
	"github.com/containers/podman/v5/pkg/bindings"
	"github.com/containers/podman/v5/pkg/errorhandling"
	"github.com/containers/podman/v5/version"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// request to Podman's API. Elements of the path that are names are escaped with
// url.PathEscape by the caller that makes it.
type request struct {
	method, path string
	query        url.Values
	// filters that lists and events have.
	filters map[string][]string
	// json is sent as such, or else the body as a tar.
	json   any
	body   io.Reader
	header http.Header
}

func get(path string) request    { return request{method: http.MethodGet, path: path} }
func remove(path string) request { return request{method: http.MethodDelete, path: path} }
func post(path string) request   { return request{method: http.MethodPost, path: path} }
func put(path string) request    { return request{method: http.MethodPut, path: path} }

func (r request) with(key, value string) request {
	query := url.Values{}
	maps.Copy(query, r.query)
	query.Set(key, value)
	r.query = query
	return r
}

func (r request) filtered(filters map[string][]string) request {
	r.filters = filters
	return r
}

func (r request) sending(body any) request {
	r.json = body
	return r
}

// call sends a request and decodes the answer into a value (nil = none), or
// returns Podman's error with its kind.
func (e *Engine) call(ctx context.Context, r request, into any) error {
	_, err := e.callForHeader(ctx, r, into)
	return err
}

// callForHeader is call, and returns the header of the answer as well.
func (e *Engine) callForHeader(ctx context.Context, r request, into any) (http.Header, error) {
	response, err := e.send(ctx, r)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	return response.Header, typed(response.Process(into))
}

// stream sends a request whose answer is read by the caller, who closes it.
func (e *Engine) stream(ctx context.Context, r request) (io.ReadCloser, error) {
	response, err := e.send(ctx, r)
	if err != nil {
		return nil, err
	}
	if response.IsSuccess() || response.IsInformational() {
		return response.Body, nil
	}
	defer response.Body.Close()
	return nil, typed(response.Process(nil))
}

// send returns the answer, whatever its status.
func (e *Engine) send(ctx context.Context, r request) (*bindings.APIResponse, error) {
	connection, err := e.open(ctx)
	if err != nil {
		return nil, err
	}
	made, err := r.make(ctx, connection.base)
	if err != nil {
		return nil, err
	}
	response, err := connection.Client.Do(made) //nolint:bodyclose // the caller closes it
	if err != nil {
		err = typed(err)
		if errors.Is(err, engine.ErrUnavailable) {
			e.forget(connection)
		}
		return nil, err
	}
	return &bindings.APIResponse{Response: response, Request: made}, nil
}

// make builds the request for the version of the API that the bindings are of:
// older services answer it too.
func (r request) make(ctx context.Context, base string) (*http.Request, error) {
	body, contentType := r.body, "application/x-tar"
	if r.json != nil {
		encoded, err := json.Marshal(r.json)
		if err != nil {
			return nil, fmt.Errorf("encode request: %w", err)
		}
		body, contentType = bytes.NewReader(encoded), "application/json"
	}
	api := version.APIVersion[version.Libpod][version.CurrentAPI]
	made, err := http.NewRequestWithContext(ctx, r.method, base+"/v"+api.String()+"/libpod"+r.path, body)
	if err != nil {
		return nil, fmt.Errorf("create request: %w", err)
	}
	if len(r.filters) > 0 {
		encoded, err := json.Marshal(r.filters)
		if err != nil {
			return nil, fmt.Errorf("encode filters: %w", err)
		}
		r = r.with("filters", string(encoded))
	}
	made.URL.RawQuery = r.query.Encode()
	for key, values := range r.header {
		made.Header[key] = values
	}
	if body != nil {
		made.Header.Set("Content-Type", contentType)
	}
	return made, nil
}

// causes are the root causes that Podman returns in a field of its own, which is
// meant for programs, with nearly every error having the status 500.
var causes = map[string]error{
	define.ErrNoSuchCtr.Error():     engine.ErrNotFound,
	define.ErrCtrRemoved.Error():    engine.ErrNotFound,
	define.ErrNoSuchVolume.Error():  engine.ErrNotFound,
	define.ErrVolumeRemoved.Error(): engine.ErrNotFound,
	define.ErrNoSuchNetwork.Error(): engine.ErrNotFound,
	errImageUnknown.Error():         engine.ErrNotFound,

	define.ErrCtrExists.Error():               engine.ErrConflict,
	define.ErrCtrStateInvalid.Error():         engine.ErrConflict,
	define.ErrExecSessionStateInvalid.Error(): engine.ErrConflict,
	define.ErrNetworkExists.Error():           engine.ErrConflict,
	define.ErrNetworkInUse.Error():            engine.ErrConflict,
	define.ErrVolumeExists.Error():            engine.ErrConflict,
	define.ErrVolumeBeingUsed.Error():         engine.ErrConflict,

	define.ErrInvalidArg.Error():                 engine.ErrInvalid,
	define.ErrOCIRuntimeNotFound.Error():         engine.ErrInvalid,
	define.ErrOCIRuntimePermissionDenied.Error(): engine.ErrInvalid,
}

// The causes of the storage library, whose package needs cgo: its ErrImageUnknown
// and ErrDuplicateName.
var (
	errImageUnknown = errors.New("image not known")
	errNameInUse    = errors.New("that name is already in use")
)

// errNoSuchInterface is a cause of package net, which does not export it.
var errNoSuchInterface = errors.New("no such network interface")

var statuses = map[int]error{
	http.StatusBadRequest:         engine.ErrInvalid,
	http.StatusUnauthorized:       engine.ErrUnauthorized,
	http.StatusForbidden:          engine.ErrUnauthorized,
	http.StatusNotFound:           engine.ErrNotFound,
	http.StatusConflict:           engine.ErrConflict,
	http.StatusServiceUnavailable: engine.ErrUnavailable,
}

// typed gives an error its kind: by the status Podman answered with, then by
// the root cause, or by how the connection went wrong.
func typed(err error) error {
	return engine.WithKind(withoutRequest(err), kindOf(err))
}

// withoutRequest is the error without method and address of the request, whose host has no meaning and whose query is long.
func withoutRequest(err error) error {
	if request := (*url.Error)(nil); errors.As(err, &request) {
		return request.Err
	}
	return err
}

func kindOf(err error) error {
	var network net.Error
	var answer *errorhandling.ErrorModel
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return nil
	case errors.As(err, &answer):
		if kind := statuses[answer.ResponseCode]; kind != nil {
			return kind
		}
		return causes[answer.Because]
	case errors.Is(err, fs.ErrPermission), errors.Is(err, engine.ErrUnauthorized):
		return engine.ErrUnauthorized
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		// Refused, or gone in the middle of an answer.
		return engine.ErrUnavailable
	}
	return nil
}

// isCause reports whether Podman names one of the root causes.
func isCause(err error, causes ...error) bool {
	var answer *errorhandling.ErrorModel
	return errors.As(err, &answer) &&
		slices.ContainsFunc(causes, func(cause error) bool { return answer.Because == cause.Error() })
}
