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

package metered_test

import (
	"context"
	"errors"
	"io"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/metered"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// hung is an engine that takes a call and never answers.
type hung struct{ engine.Engine }

func wait(ctx context.Context) error {
	<-ctx.Done()
	return ctx.Err()
}

func (hung) InspectContainer(ctx context.Context, _ string) (engine.Container, error) {
	return engine.Container{}, wait(ctx)
}

func (hung) RemoveContainer(ctx context.Context, _ string) error { return wait(ctx) }

func (hung) ContainerLog(ctx context.Context, _ string, _ engine.LogRequest, _ io.Writer) error {
	return wait(ctx)
}

func (hung) PullImage(ctx context.Context, _ string, _ *engine.Credentials, _ func(engine.PullProgress)) error {
	return wait(ctx)
}

// Download answers, and then sends nothing.
func (hung) Download(ctx context.Context, _, path string) (io.ReadCloser, error) {
	if path == "/never" {
		return nil, wait(ctx)
	}
	return io.NopCloser(silent(func() error { return wait(ctx) })), nil
}

// silent is a stream whose reads end with an error some time.
type silent func() error

func (s silent) Read([]byte) (int, error) { return 0, s() }

func TestLimit(t *testing.T) {
	t.Parallel()
	download := func(path string) func(context.Context, engine.Engine) error {
		return func(ctx context.Context, e engine.Engine) error {
			archive, err := e.Download(ctx, "node", path)
			if err != nil {
				return err
			}
			_, err = io.ReadAll(archive)
			return errors.Join(err, archive.Close())
		}
	}
	cases := map[string]struct {
		reason string
		call   func(context.Context, engine.Engine) error
		// after is when the call ends; the test gives it up after an hour.
		after time.Duration
		want  error
	}{
		"Read": {
			"What is asked of one container must not hold up everything else.",
			func(ctx context.Context, e engine.Engine) error {
				_, err := e.InspectContainer(ctx, "node")
				return err
			},
			30 * time.Second, engine.ErrUnavailable,
		},
		"Change": {
			"To end processes takes longer.",
			func(ctx context.Context, e engine.Engine) error { return e.RemoveContainer(ctx, "node") },
			5 * time.Minute, engine.ErrUnavailable,
		},
		"Download":       {"A stream that never begins.", download("/never"), 30 * time.Second, engine.ErrUnavailable},
		"DownloadStalls": {"One that begins and then stalls.", download("/stalls"), 30 * time.Second, engine.ErrUnavailable},
		"Log": {
			"There may be much to transfer.",
			func(ctx context.Context, e engine.Engine) error {
				return e.ContainerLog(ctx, "node", engine.LogRequest{}, io.Discard)
			},
			5 * time.Minute, engine.ErrUnavailable,
		},
		"LogFollowed": {
			"It lasts as long as the container.",
			func(ctx context.Context, e engine.Engine) error {
				return e.ContainerLog(ctx, "node", engine.LogRequest{Follow: true}, io.Discard)
			},
			time.Hour, context.DeadlineExceeded,
		},
		"Pull": {
			"A registry may be slow, and the caller shows the progress.",
			func(ctx context.Context, e engine.Engine) error { return e.PullImage(ctx, "image", nil, nil) },
			time.Hour, context.DeadlineExceeded,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				eng := must.Get(metered.New(hung{simulated.New()}, prometheus.NewRegistry(), metered.Options{}))(t)
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
				defer cancel()
				began := time.Now()
				if err := tc.call(ctx, eng); !errors.Is(err, tc.want) {
					t.Errorf("%s\nerror is %v, want %v", tc.reason, err, tc.want)
				}
				if took := time.Since(began); took != tc.after {
					t.Errorf("%s\nit ended after %s, want %s", tc.reason, took, tc.after)
				}
			})
		})
	}
}
