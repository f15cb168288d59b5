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
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// soon is shorter than any timeout of a real handler.
const soon = 50 * time.Millisecond

// Each extension fails in its way, once with each failure policy.
func TestFailures(t *testing.T) {
	t.Parallel()
	tooLarge, status := &ResponseTooLargeError{}, &StatusError{}
	for name, tc := range map[string]struct {
		reason string
		handle http.HandlerFunc
		is     error
		as     any
	}{
		"Slow": {reason: "It does not respond within its timeout.", handle: hang, is: context.DeadlineExceeded},
		"SlowBody": {reason: "It begins to respond and then waits.", is: context.DeadlineExceeded, handle: func(w http.ResponseWriter, r *http.Request) {
			_, _ = io.WriteString(w, `{"status":`)
			_ = http.NewResponseController(w).Flush()
			hang(w, r)
		}},
		"Large": {reason: "20 MiB are not read.", handle: large(20 << 20), as: &tooLarge},
		"Status": {reason: "The response is an error of HTTP.", as: &status, handle: func(w http.ResponseWriter, _ *http.Request) {
			http.Error(w, strings.Repeat("x", 20<<20), http.StatusBadGateway)
		}},
		"Redirect": {reason: "The extension is the one that the ExtensionConfig names.", as: &status, handle: func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, "https://127.0.0.1:1", http.StatusTemporaryRedirect)
		}},
		"NoJSON":  {reason: "The response is of another server.", handle: func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "<html>") }},
		"Aborted": {reason: "The connection ends.", is: io.EOF, handle: func(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newExtension(t)
			e.on(beforeCreate, tc.handle)
			c := newClient(t, e.config("fail", before(runtimev1.FailurePolicyFail)), e.config("ignore", before(runtimev1.FailurePolicyIgnore)))
			if tc.is == context.DeadlineExceeded { //nolint:errorlint // Of this table.
				shorten(c, "fail", soon)
				shorten(c, "ignore", soon)
			}
			response, err := create(t, c, "before.fail")
			call := &CallError{}
			if !errors.As(err, &call) || tc.is != nil && !errors.Is(err, tc.is) || tc.as != nil && !errors.As(err, tc.as) {
				t.Errorf("%s\nwith the failure policy Fail: %v", tc.reason, err)
			}
			if diff := cmp.Diff(&runtimehooksv1.BeforeClusterCreateResponse{}, response); diff != "" {
				t.Errorf("%s\nresponse of a call that failed (-want +got):\n%s", tc.reason, diff)
			}
			if size := len(err.Error()); size > 1000 {
				t.Errorf("%s\nthe error has %d bytes", tc.reason, size)
			}
			response, err = create(t, c, "before.ignore")
			must.Succeed(t, err)
			if diff := cmp.Diff(success(), response.CommonResponse); diff != "" {
				t.Errorf("%s\nresponse that is ignored (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// A response without an end is read up to the limit.
func TestLargeResponseIsNotRead(t *testing.T) {
	t.Parallel()
	e := newExtension(t)
	written := make(chan int, 1)
	e.on(beforeCreate, func(w http.ResponseWriter, _ *http.Request) {
		total := 0
		for piece := strings.Repeat("x", 64<<10); total < 200<<20; total += len(piece) {
			if _, err := io.WriteString(w, piece); err != nil {
				break
			}
		}
		written <- total
	})
	c := newClient(t, e.config("one", before(runtimev1.FailurePolicyFail)))
	if _, err := create(t, c, "before.one"); err == nil {
		t.Fatal("200 MiB were read")
	}
	// What the sockets of both ends hold is written too.
	if total := <-written; total > 20<<20 {
		t.Errorf("%d bytes were taken, want little more than %d", total, MaxResponseBytes)
	}
}

// A long message of an extension would not fit into a condition.
func TestLongMessageIsCut(t *testing.T) {
	t.Parallel()
	e := newExtension(t)
	e.on(beforeCreate, large(1<<20))
	c := newClient(t, e.config("one", before(runtimev1.FailurePolicyFail)))
	response, err := create(t, c, "before.one")
	must.Succeed(t, err)
	if len(response.Message) != MaxMessageBytes || !strings.HasSuffix(response.Message, "x…") {
		t.Errorf("the message has %d bytes", len(response.Message))
	}
}

// The failure that an extension decides is not ignored.
func TestReportedFailure(t *testing.T) {
	t.Parallel()
	e := newExtension(t)
	c := newClient(t, e.config("one", before(runtimev1.FailurePolicyIgnore)))
	for _, status := range []runtimehooksv1.ResponseStatus{runtimehooksv1.ResponseStatusFailure, "Unknown", ""} {
		e.on(beforeCreate, respond(&runtimehooksv1.BeforeClusterCreateResponse{CommonRetryResponse: runtimehooksv1.CommonRetryResponse{
			CommonResponse: runtimehooksv1.CommonResponse{Status: status, Message: "because"},
		}}))
		_, err := create(t, c, "before.one")
		failed := &FailedError{}
		if !errors.As(err, &failed) || failed.Status != status || failed.Message != "because" {
			t.Errorf("status %q: want a *FailedError, got %v", status, err)
		}
	}
}

// An extension that is dead is known by its last handlers, and fails with the same text each
// time: a condition with it is written once.
func TestDeadExtension(t *testing.T) {
	t.Parallel()
	dead, alive := newExtension(t), newExtension(t)
	alive.on(beforeCreate, respond(&runtimehooksv1.BeforeClusterCreateResponse{CommonRetryResponse: runtimehooksv1.CommonRetryResponse{CommonResponse: success()}}))
	config := dead.config("dead", before(runtimev1.FailurePolicyFail))
	dead.Close()
	c := newClient(t, config, alive.config("alive", before(runtimev1.FailurePolicyFail)))
	_, first := create(t, c, "before.dead")
	_, second := create(t, c, "before.dead")
	if first == nil || second == nil || first.Error() != second.Error() {
		t.Errorf("want the same error twice, got\n%v\n%v", first, second)
	}
	if _, err := create(t, c, "before.alive"); err != nil {
		t.Errorf("another extension fails: %v", err)
	}
}

// While a handler does not answer, one call waits for it; it and others of the extension are
// called again as soon as it answers.
func TestHandlerThatDoesNotAnswer(t *testing.T) {
	t.Parallel()
	e := newExtension(t)
	after := before(runtimev1.FailurePolicyFail)
	after.Name = "after"
	afterCreate := strings.TrimSuffix(beforeCreate, "before") + "after"
	good := respond(&runtimehooksv1.BeforeClusterCreateResponse{CommonRetryResponse: runtimehooksv1.CommonRetryResponse{CommonResponse: success()}})
	e.on(afterCreate, good)
	e.on(beforeCreate, hang)
	config := e.config("one", before(runtimev1.FailurePolicyFail), after)
	c := newClient(t, config)
	shorten(c, "one", soon)
	if _, err := create(t, c, "before.one"); !errors.Is(err, context.DeadlineExceeded) {
		t.Fatalf("the handler hangs: %v", err)
	}

	calls := len(e.received(beforeCreate)) // none, if the time was over before it was sent
	must.Succeed(t, c.Register(config))    // what is known of the handler stays, with its own timeout
	entered, release := make(chan struct{}), make(chan struct{})
	e.on(beforeCreate, func(w http.ResponseWriter, r *http.Request) {
		close(entered)
		<-release
		good(w, r)
	})
	probe := make(chan error, 1)
	go func() {
		_, err := create(t, c, "before.one")
		probe <- err
	}()
	<-entered
	for range 3 {
		if _, err := create(t, c, "before.one"); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("while another call waits: want the last failure, got %v", err)
		}
	}
	if _, err := create(t, c, "after.one"); err != nil {
		t.Errorf("another handler of the extension: %v", err)
	}
	close(release)
	must.Succeed(t, <-probe)
	e.on(beforeCreate, good)
	if _, err := create(t, c, "before.one"); err != nil {
		t.Errorf("after it answered: %v", err)
	}
	if calls = len(e.received(beforeCreate)) - calls; calls != 2 {
		t.Errorf("%d calls, want the one that waited and the last", calls)
	}
}

// A caller that does not wait says nothing about the extension.
func TestCanceledCall(t *testing.T) {
	t.Parallel()
	b, impatient := &breaker{}, &CallError{Err: context.Canceled, Unanswered: true}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := b.do(ctx, func() error { return impatient }); !errors.Is(err, impatient) {
		t.Errorf("the call returns %v", err)
	}
	if b.failure != nil {
		t.Errorf("the failure is recorded: %v", b.failure)
	}
}
