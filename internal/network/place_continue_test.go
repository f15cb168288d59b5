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

package network_test

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestPlaceContinues: what was interrupted between any two calls is completed by
// the next Place, in the same container and with the same address.
func TestPlaceContinues(t *testing.T) {
	t.Parallel()
	lost := func(method string, fail func(*simulated.Engine, func(simulated.Call) error)) func(*simulated.Engine) {
		return func(eng *simulated.Engine) {
			failed := false
			fail(eng, func(call simulated.Call) error {
				if failed || call.Method != method {
					return nil
				}
				failed = true
				return fmt.Errorf("no answer: %w", engine.ErrUnavailable)
			})
		}
	}
	before := func(eng *simulated.Engine, hook func(simulated.Call) error) { eng.OnCall(hook) }
	after := func(eng *simulated.Engine, hook func(simulated.Call) error) { eng.AfterCall(hook) }
	cases := map[string]struct {
		interrupt func(*simulated.Engine)
		// kept says that the next Place finds a container.
		kept bool
	}{
		"BeforeCreate": {lost("CreateContainer", before), false},
		"AfterCreate":  {lost("CreateContainer", after), true},
		"BeforeUpload": {lost("Upload", before), true},
		"AfterUpload":  {lost("Upload", after), true},
		"BeforeStart":  {lost("StartContainer", before), true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng := newEngine(t)
			p := placement("a")
			p.Prepare = func(ctx context.Context, _ []netip.Addr) error {
				return eng.Upload(ctx, "a", archiveOf(t, "opt/prepared", "all of it"))
			}
			tc.interrupt(eng)
			if _, err := network.Place(t.Context(), eng, p); !errors.Is(err, engine.ErrUnavailable) {
				t.Fatalf("first Place: %v", err)
			}
			var first engine.Container
			if found, err := eng.InspectContainer(t.Context(), "a"); (err == nil) != tc.kept {
				t.Fatalf("after the first Place: %v, want the container to be there: %t", err, tc.kept)
			} else if tc.kept {
				first = found
			}
			container, err := network.Place(t.Context(), eng, p)
			if err != nil || container.Status != engine.StatusRunning {
				t.Fatalf("second Place: %s, %v", container.Status, err)
			}
			if content, err := eng.ReadFile("a", "/opt/prepared"); err != nil || string(content) != "all of it" {
				t.Errorf("prepared: %q, %v", content, err)
			}
			if tc.kept && (container.ID != first.ID || container.Labels[identity.LabelAddress] != first.Labels[identity.LabelAddress]) {
				t.Errorf("container %s at %s, want that of the first Place, %s at %s", container.ID,
					container.Labels[identity.LabelAddress], first.ID, first.Labels[identity.LabelAddress])
			}
		})
	}
}

// TestPlaceAfterItsCallerGaveUp: the end of the context is an interruption.
func TestPlaceAfterItsCallerGaveUp(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	ctx, cancel := context.WithCancel(t.Context())
	p := placement("a")
	p.Prepare = func(ctx context.Context, _ []netip.Addr) error { cancel(); return ctx.Err() }
	if _, err := network.Place(ctx, eng, p); !errors.Is(err, context.Canceled) {
		t.Errorf("Place: %v, want the end of the context", err)
	}
	first := must.Get(eng.InspectContainer(t.Context(), "a"))(t)
	p.Prepare = nil
	if container, err := network.Place(t.Context(), eng, p); err != nil || container.ID != first.ID {
		t.Errorf("second Place: %s, %v, want the container of the first", container.ID, err)
	}
}

// uninspectable fails to inspect a running container, for an unknown reason.
type uninspectable struct{ *simulated.Engine }

func (u uninspectable) InspectContainer(ctx context.Context, name string) (engine.Container, error) {
	container, err := u.Engine.InspectContainer(ctx, name)
	if container.Status == engine.StatusRunning {
		return engine.Container{}, errors.New("no space left on device")
	}
	return container, err
}

// TestPlaceKeepsWhatRuns: the bootstrap of a container that was started may have reached the
// cluster.
func TestPlaceKeepsWhatRuns(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	if _, err := network.Place(t.Context(), uninspectable{eng}, placement("a")); err == nil {
		t.Error("Place did not fail")
	}
	if container, err := eng.InspectContainer(t.Context(), "a"); err != nil || container.Status != engine.StatusRunning {
		t.Errorf("container: %s, %v, want it running", container.Status, err)
	}
}

// unfilled is an engine whose first start of a container was interrupted.
type unfilled struct{ *simulated.Engine }

func (u unfilled) InspectContainer(ctx context.Context, name string) (engine.Container, error) {
	container, err := u.Engine.InspectContainer(ctx, name)
	container.Incomplete = container.StartedAt.IsZero()
	return container, err
}

// TestPlaceReplaces: a container is not continued where its content cannot be
// relied on, or where it would not be what is asked for.
func TestPlaceReplaces(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		engine func(*simulated.Engine) network.Engine
		change func(*network.Placement)
	}{
		"Incomplete": {reason: "Podman fills volumes at the first start.", engine: func(eng *simulated.Engine) network.Engine { return unfilled{eng} }},
		"OtherImage": {reason: "The image was changed in between.", change: func(p *network.Placement) { p.Spec.Entrypoint = []string{"/other"} }},
		"OtherAddress": {reason: "Another address is asked for.", change: func(p *network.Placement) {
			p.Addresses = addresses("10.7.0.77")
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng := newEngine(t)
			eng.FailNext("StartContainer", engine.ErrUnavailable)
			if _, err := network.Place(t.Context(), eng, placement("a")); !errors.Is(err, engine.ErrUnavailable) {
				t.Fatalf("first Place: %v", err)
			}
			first := must.Get(eng.InspectContainer(t.Context(), "a"))(t)
			p := placement("a")
			if tc.change != nil {
				tc.change(&p)
			}
			var seen network.Engine = eng
			if tc.engine != nil {
				seen = tc.engine(eng)
			}
			container, err := network.Place(t.Context(), seen, p)
			if err != nil || container.ID == first.ID {
				t.Errorf("%s\nPlace = %s, %v, want a container other than %s", tc.reason, container.ID, err, first.ID)
			}
			if diff := cmp.Diff([]string{"a"}, names(t, eng)); diff != "" {
				t.Errorf("containers (-want +got):\n%s", diff)
			}
		})
	}
}

// TestPlaceWhileTheEngineCreates: Docker reserves the name when a creation begins,
// and shows the container when it has ended.
func TestPlaceWhileTheEngineCreates(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	eng.FailNext("CreateContainer", &engine.ConflictError{Resource: engine.ResourceName, Value: "a"})
	if _, err := network.Place(t.Context(), eng, placement("a")); !errors.Is(err, network.ErrCreating) {
		t.Errorf("Place: %v, want ErrCreating", err)
	}
	if _, err := network.Place(t.Context(), eng, placement("a")); err != nil {
		t.Errorf("Place after it: %v", err)
	}
}

func archiveOf(t *testing.T, name, content string) io.Reader {
	t.Helper()
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	err := writer.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))})
	if _, writeErr := io.WriteString(writer, content); errors.Join(err, writeErr, writer.Close()) != nil {
		t.Fatal(err)
	}
	return &archive
}
