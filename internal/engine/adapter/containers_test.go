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

package adapter_test

import (
	"context"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

func TestCouldBeID(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{"cafe": true, "0f3": true, "cafe-1": false, "node": false} {
		if got := adapter.CouldBeID(name); got != want {
			t.Errorf("%q could be the beginning of an ID: %v, want %v", name, got, want)
		}
	}
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for state, want := range map[string]engine.Status{
		"configured": engine.StatusCreated, "stopping": engine.StatusRunning, "dead": engine.StatusRemoving,
		"exited": engine.StatusExited, "stopped": engine.StatusExited,
	} {
		if got := adapter.Status(state); got != want {
			t.Errorf("status of %q is %q, want %q", state, got, want)
		}
	}
}

func TestLabels(t *testing.T) {
	t.Parallel()
	got := adapter.Labels(map[string]string{"name": "a", "label": "x"}, []string{"name"})
	if diff := cmp.Diff(map[string]string{"label": "x"}, got); diff != "" {
		t.Errorf("labels (-want +got):\n%s", diff)
	}
}

func TestUpload(t *testing.T) {
	t.Parallel()
	own, broken := errors.New("the caller's disk is gone"), errors.New("broken connection")
	for name, c := range map[string]struct {
		reason              string
		archive             io.Reader
		inspect, sent, want error
	}{
		"sent":    {"It was uploaded.", strings.NewReader("x"), nil, nil, nil},
		"broken":  {"The connection broke.", strings.NewReader("x"), nil, broken, broken},
		"archive": {"The caller's error is its own.", iotest.ErrReader(own), nil, broken, own},
		"absent":  {"The answer was lost in the broken connection.", strings.NewReader("x"), engine.ErrNotFound, broken, engine.ErrNotFound},
	} {
		err := adapter.Upload(t.Context(), "a", c.archive,
			func(context.Context, string) (string, error) { return "", c.inspect },
			func(source io.Reader) error { _, _ = io.ReadAll(source); return c.sent })
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %s Got %v, want %v", name, c.reason, err, c.want)
		}
	}
}

func TestRemove(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		other := errors.New("other")
		for name, c := range map[string]struct {
			reason string
			errs   []error
			want   error
		}{
			"in progress": {"The end of another removal is waited for.", []error{engine.ErrConflict, engine.ErrConflict, engine.ErrNotFound}, nil},
			"forever":     {"Patience ends.", slices.Repeat([]error{engine.ErrConflict}, 1000), engine.ErrConflict},
			"other error": {"It is not repeated.", []error{other, nil}, other},
		} {
			err := adapter.Remove(t.Context(), "a", func() (bool, error) {
				err := c.errs[0]
				c.errs = c.errs[1:]
				return errors.Is(err, engine.ErrConflict), err
			})
			if !errors.Is(err, c.want) {
				t.Errorf("%s: %s Got %v, want %v", name, c.reason, err, c.want)
			}
		}
		ended, cancel := context.WithCancel(t.Context())
		cancel()
		if err := adapter.Remove(ended, "a", func() (bool, error) { return true, other }); !errors.Is(err, context.Canceled) {
			t.Errorf("with a context that has ended: %v, want its error", err)
		}
	})
}
