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

package plane

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestEnsureReplacesAnotherImage(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	mustEnsure(t, newPlane(eng))
	must.Succeed(t, eng.WriteFile(DefaultName, StateDir+"/state", []byte("kept")))
	replaceImage(eng)
	eng.ResetJournal()

	p := newPlane(eng)
	p.choosePort = func(context.Context) (uint16, error) { return testPort + 1, nil }
	mustEnsure(t, p)
	if diff := cmp.Diff([]string{"CreateContainer", "RemoveContainer", "StopContainer", "RemoveContainer", "CreateContainer", "StartContainer"}, mutations(eng)); diff != "" {
		t.Errorf("Ensure: -want, +got:\n%s", diff)
	}
	kept, err := eng.ReadFile(DefaultName, StateDir+"/state")
	if err != nil || string(kept) != "kept" {
		t.Errorf("state after the replacement: got %q, %v", kept, err)
	}
	spec, _ := eng.Spec(DefaultName)
	if got := spec.Ports[0].HostPort; got != testPort {
		t.Errorf("port after the replacement: want %d, got %d", testPort, got)
	}
}

// What the engine rejects does not cost the plane that runs.
func TestEnsureVerifiesAReplacement(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	mustEnsure(t, newPlane(eng))
	replaceImage(eng)
	eng.FailNext("CreateContainer", engine.ErrInvalid)
	_, err := newPlane(eng).Ensure(t.Context(), testImage, nil)
	if !errors.Is(err, engine.ErrInvalid) || !strings.Contains(err.Error(), "was not changed") {
		t.Errorf("Ensure: %v, want what the engine rejects", err)
	}
	containers := must.Get(eng.ListContainers(t.Context(), map[string]string{identity.LabelRole: string(identity.RolePlane)}))(t)
	if len(containers) != 1 || containers[0].Status != engine.StatusRunning {
		t.Errorf("planes: %+v, want the one that runs", containers)
	}
}

// A user's container that has the name is not removed.
func TestEnsureVerifiesWithAForeignContainer(t *testing.T) {
	t.Parallel()
	eng := newEngine(t)
	p := newPlane(eng)
	mustEnsure(t, p)
	must.Get(eng.CreateContainer(t.Context(), engine.Spec{
		Name: p.verifiedName(), Image: testImage, Attachment: engine.Attachment{Network: network.DefaultName},
	}))(t)
	replaceImage(eng)
	_, err := p.Ensure(t.Context(), testImage, nil)
	if foreign := (*ForeignError)(nil); !errors.As(err, &foreign) || foreign.Name != p.verifiedName() {
		t.Errorf("Ensure: %v, want a ForeignError", err)
	}
	must.Get(eng.InspectContainer(t.Context(), p.verifiedName()))(t)
}

// replaceImage of new planes by another one.
func replaceImage(eng *simulated.Engine) {
	eng.RemoveImage(testImage)
	eng.AddImage(engine.Image{ID: "sha256:2", Tags: []string{testImage}}, nil)
}
