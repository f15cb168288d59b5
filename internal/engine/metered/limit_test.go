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
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
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

func (hung) Download(ctx context.Context, _, _ string) (io.ReadCloser, error) { return nil, wait(ctx) }

func TestLimit(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		call   func(context.Context, engine.Engine) error
		// after is when the call ends; the test gives it up after an hour.
		after time.Duration
		want  error
	}{
		"Read": {
			"A request about one container must not hold up everything else.",
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
		"Download": {
			"A stream that never starts; of one that stalls see TestLimitOfTransfers.",
			func(ctx context.Context, e engine.Engine) error {
				_, err := e.Download(ctx, "node", "/")
				return err
			},
			30 * time.Second, engine.ErrUnavailable,
		},
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
		synctest.Test(t, func(t *testing.T) {
			eng := must.Get(metered.New(hung{simulated.New()}, prometheus.NewRegistry(), metered.Options{}))(t)
			ctx, cancel := context.WithTimeout(t.Context(), time.Hour)
			defer cancel()
			start := time.Now()
			err := tc.call(ctx, eng)
			if took := time.Since(start); took != tc.after || !errors.Is(err, tc.want) {
				t.Errorf("%s: %s\nit ended after %s with %v, want %s and %v", name, tc.reason, took, err, tc.after, tc.want)
			}
		})
	}
}

// slow is an engine that takes a while for each piece of what it transfers.
type slow struct {
	engine.Engine

	each time.Duration
}

func (s slow) Upload(ctx context.Context, _ string, archive io.Reader) error {
	return s.transfer(ctx, io.Discard, archive)
}

func (s slow) Exec(ctx context.Context, _ string, command engine.Command) (engine.Output, error) {
	if command.Stdout != nil {
		return engine.Output{}, s.transfer(ctx, command.Stdout, &pieces{left: 10})
	}
	return engine.Output{}, s.transfer(ctx, io.Discard, command.Stdin)
}

func (s slow) ContainerLog(ctx context.Context, _ string, _ engine.LogRequest, out io.Writer) error {
	return s.transfer(ctx, out, &pieces{left: 10})
}

func (s slow) Download(ctx context.Context, _, _ string) (io.ReadCloser, error) {
	reader, writer := io.Pipe()
	go func() { writer.CloseWithError(s.transfer(ctx, writer, &pieces{left: 10})) }()
	return reader, nil
}

// transfer piece by piece. It does not call ReadFrom or WriteTo of the caller.
func (s slow) transfer(ctx context.Context, to io.Writer, from io.Reader) error {
	var piece [1]byte
	for {
		_, err := from.Read(piece[:])
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err == nil {
			err = adapter.Wait(ctx, s.each)
		}
		if err == nil {
			_, err = to.Write(piece[:])
		}
		if err != nil {
			return err
		}
	}
}

// pieces of one byte, each after a while.
type pieces struct {
	left int
	each time.Duration
}

func (p *pieces) Read(piece []byte) (int, error) {
	time.Sleep(p.each)
	if p.left--; p.left < 0 {
		return 0, io.EOF
	}
	return 1, nil
}

// slowly is a caller that takes a while for each piece of what it gets.
type slowly time.Duration

func (s slowly) Write(p []byte) (int, error) {
	time.Sleep(time.Duration(s))
	return len(p), nil
}

// A limit is for an engine that stopped: a large transfer, and a caller that takes its time,
// are never cut off.
func TestLimitOfTransfers(t *testing.T) {
	t.Parallel()
	calls := map[string]struct {
		limit time.Duration
		call  func(ctx context.Context, e engine.Engine, callers time.Duration) error
	}{
		"Upload": {5 * time.Minute, func(ctx context.Context, e engine.Engine, callers time.Duration) error {
			return e.Upload(ctx, "node", &pieces{left: 10, each: callers})
		}},
		"Input": {5 * time.Minute, func(ctx context.Context, e engine.Engine, callers time.Duration) error {
			_, err := e.Exec(ctx, "node", engine.Command{Stdin: &pieces{left: 10, each: callers}})
			return err
		}},
		"Output": {5 * time.Minute, func(ctx context.Context, e engine.Engine, callers time.Duration) error {
			_, err := e.Exec(ctx, "node", engine.Command{Stdout: slowly(callers)})
			return err
		}},
		"Log": {5 * time.Minute, func(ctx context.Context, e engine.Engine, callers time.Duration) error {
			return e.ContainerLog(ctx, "node", engine.LogRequest{}, slowly(callers))
		}},
		"Download": {30 * time.Second, func(ctx context.Context, e engine.Engine, callers time.Duration) error {
			archive, err := e.Download(ctx, "node", "/")
			if err != nil {
				return err
			}
			for piece := make([]byte, 1); err == nil; time.Sleep(callers) {
				_, err = archive.Read(piece)
			}
			if errors.Is(err, io.EOF) {
				err = nil
			}
			return errors.Join(err, archive.Close())
		}},
	}
	cases := map[string]struct {
		reason string
		// engines and callers take so many tenths of the limit for each piece.
		engines, callers int
		want             error
	}{
		"Large":      {"All ten pieces together take longer than the limit.", 9, 0, nil},
		"SlowCaller": {"The engine waits for the caller, and not the other way round.", 1, 30, nil},
		"Stalled":    {"One piece takes longer than the limit.", 11, 0, engine.ErrUnavailable},
	}
	for kind, transfer := range calls {
		for name, tc := range cases {
			synctest.Test(t, func(t *testing.T) {
				tenth := func(of int) time.Duration { return transfer.limit / 10 * time.Duration(of) }
				eng := must.Get(metered.New(slow{simulated.New(), tenth(tc.engines)}, prometheus.NewRegistry(), metered.Options{}))(t)
				if err := transfer.call(t.Context(), eng, tenth(tc.callers)); !errors.Is(err, tc.want) {
					t.Errorf("%s, %s: %s\nerror is %v, want %v", kind, name, tc.reason, err, tc.want)
				}
			})
		}
	}
}
