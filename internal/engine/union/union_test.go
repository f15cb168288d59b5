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

package union_test

import (
	"bytes"
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/union"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const image = "example.test/image:1"

// three engines, of which each has a container of its name.
func three(t *testing.T) (map[string]*simulated.Engine, *union.Engine) {
	t.Helper()
	engines := map[string]*simulated.Engine{}
	var members []union.Member
	for _, name := range []string{"a", "b", "c"} {
		eng := simulated.New()
		eng.AddImage(engine.Image{Tags: []string{image}}, nil)
		must.Get(eng.CreateContainer(t.Context(), engine.Spec{Name: name, Image: image}))(t)
		engines[name] = eng
		members = append(members, union.Member{Name: name, Engine: eng})
	}
	return engines, union.New(func() []union.Member { return members })
}

func names(containers []engine.Container) string {
	var all []string
	for _, container := range containers {
		all = append(all, container.Name)
	}
	return strings.Join(all, " ")
}

// TestUnion: a container is found and changed where it is, and created on the first.
func TestUnion(t *testing.T) {
	t.Parallel()
	engines, all := three(t)
	ctx := t.Context()
	if got := names(must.Get(all.ListContainers(ctx, nil))(t)); got != "a b c" {
		t.Errorf("the list has %q", got)
	}
	must.Get(all.CreateContainer(ctx, engine.Spec{Name: "new", Image: image}))(t)
	must.Get(engines["a"].InspectContainer(ctx, "new"))(t)
	must.Succeed(t, all.StartContainer(ctx, "c"))
	if container := must.Get(engines["c"].InspectContainer(ctx, "c"))(t); container.Status != engine.StatusRunning {
		t.Errorf("c is %s", container.Status)
	}
	must.Succeed(t, all.Upload(ctx, "b", bytes.NewReader(make([]byte, 1024))))
	must.Succeed(t, all.RemoveContainer(ctx, "b"))
	must.Succeed(t, all.RemoveContainer(ctx, "b"))
	if _, err := all.InspectContainer(ctx, "b"); !errors.Is(err, engine.ErrNotFound) {
		t.Errorf("b is removed: %v", err)
	}
}

// TestUnionWithoutOne: what one that does not respond may have is neither found nor missing.
func TestUnionWithoutOne(t *testing.T) {
	t.Parallel()
	engines, all := three(t)
	ctx := t.Context()
	engines["b"].Down()
	containers, err := all.ListContainers(ctx, nil)
	partial, isPartial := errors.AsType[*union.PartialError](err)
	if !isPartial || !errors.Is(err, engine.ErrUnavailable) || names(containers) != "a c" || cmp.Diff([]string{"b"}, partial.Missing) != "" {
		t.Errorf("the list has %q: %v", names(containers), err)
	}
	must.Get(all.InspectContainer(ctx, "c"))(t)
	for name, err := range map[string]error{
		"inspect": second(all.InspectContainer(ctx, "absent")),
		"start":   all.StartContainer(ctx, "absent"),
		"remove":  all.RemoveContainer(ctx, "absent"),
		"find":    second(all.Find(ctx, "absent")),
	} {
		if !errors.Is(err, engine.ErrUnavailable) || errors.Is(err, engine.ErrNotFound) {
			t.Errorf("%s: %v, want that it is unavailable", name, err)
		}
	}
}

func second[T any](_ T, err error) error { return err }

// TestUnionNetwork: no static address is dynamic on another engine.
func TestUnionNetwork(t *testing.T) {
	t.Parallel()
	engines, all := three(t)
	ranges := map[string]string{"a": "10.88.0.192/28", "b": "10.88.0.208/28", "c": "10.88.0.224/28"}
	for name, dynamic := range ranges {
		engines[name].AddNetwork(engine.Network{Name: "lan", Driver: "macvlan", Subnets: []engine.Subnet{{
			Prefix: netip.MustParsePrefix("10.88.0.0/24"), Dynamic: netip.MustParsePrefix(dynamic),
		}}})
	}
	network := must.Get(all.InspectNetwork(t.Context(), "lan"))(t)
	if got, want := network.Subnets[0].Dynamic, netip.MustParsePrefix("10.88.0.192/26"); got != want {
		t.Errorf("dynamic addresses %s, want %s", got, want)
	}
	must.Succeed(t, engines["b"].RemoveNetwork(t.Context(), "lan"))
	if _, err := all.InspectNetwork(t.Context(), "lan"); !errors.Is(err, engine.ErrNotFound) || !strings.Contains(err.Error(), `"b"`) {
		t.Errorf("b lacks it: %v", err)
	}
}
