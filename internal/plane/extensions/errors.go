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
	"errors"
	"fmt"
	"net"
	"net/url"
	"strings"

	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
)

var (
	// ErrNotReady means that the registered extensions are not read yet.
	ErrNotReady = errors.New("extensions are not registered yet")
	// ErrUnknownHandler means that no registered extension has the handler.
	ErrUnknownHandler = errors.New("handler is not registered")
	// ErrNotSelected means that the extension does not select the namespace of the object.
	ErrNotSelected = errors.New("namespaceSelector of the extension does not match")
	// ErrMismatch means that a handler is of another hook.
	ErrMismatch = errors.New("handler is of another hook")
	// ErrInvalid means that a clientConfig or the response to a discovery is invalid.
	ErrInvalid = errors.New("invalid")
	// ErrNoService means that the name of a Service is not known on the network of the plane.
	ErrNoService = errors.New("the management plane has no Services: use clientConfig.url, or give the container of the extension this network alias")
)

// CallError means that an extension did not answer, or that its answer cannot be read. The
// failure policy of its handler applies.
type CallError struct {
	// URL that was called.
	URL string
	// Err is the cause.
	Err error
	// Unanswered: there was no response at all.
	Unanswered bool
}

func (e *CallError) Error() string {
	target, _, _ := strings.Cut(e.URL, "?")
	return "call " + target + ": " + e.Err.Error()
}

func (e *CallError) Unwrap() error { return e.Err }

// unanswered returns the error of a call without a response. Its text is the same each time:
// that of a *net.OpError has the local port, and conditions have this text.
func unanswered(target string, err error) *CallError {
	var requested *url.Error
	if errors.As(err, &requested) {
		err = requested.Err
	}
	var operation *net.OpError
	if errors.As(err, &operation) {
		err = fmt.Errorf("%s: %w", operation.Op, operation.Err)
	}
	return &CallError{URL: target, Err: err, Unanswered: true}
}

// ResponseTooLargeError means that a response is larger than Limit bytes.
type ResponseTooLargeError struct{ Limit int }

func (e *ResponseTooLargeError) Error() string {
	return fmt.Sprintf("response is larger than %d bytes", e.Limit)
}

// StatusError is a response with another HTTP status than 200.
type StatusError struct {
	Code int
	// Body is the beginning of the response's.
	Body string
}

func (e *StatusError) Error() string { return fmt.Sprintf("HTTP status %d: %q", e.Code, e.Body) }

// FailedError is a response whose status is not Success. No failure policy applies: the
// extension decided it.
type FailedError struct {
	Status  runtimehooksv1.ResponseStatus
	Message string
}

func (e *FailedError) Error() string {
	return fmt.Sprintf("response has status %q: %s", e.Status, e.Message)
}
