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

package records

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/inventory"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// opened is a store of a simulated engine that has a container of the cluster demo.
func opened(t *testing.T, root string, info engine.Info) *Store {
	t.Helper()
	e := simulated.New()
	e.AddImage(engine.Image{Tags: []string{"node"}}, nil)
	labels := identity.Owner{Namespace: "default", Cluster: "demo", ID: "first"}.Labels()
	must.Get(e.CreateContainer(t.Context(), engine.Spec{Name: "demo-a", Image: "node", Labels: labels}))(t)
	return Open(root, "capcon", &output.Printer{}, e, info)
}

// warnings that the commands would print.
func warnings(s *Store) string {
	var printed bytes.Buffer
	s.Err = &printed
	s.PrintWarnings()
	return printed.String()
}

var here = engine.Info{Name: "docker", ID: "d", Version: "28", Endpoint: "unix:///d", StorageID: "disk"}

// The record leads to the containers of a cluster without objects, of which there is no other trace.
func TestSaveOwner(t *testing.T) {
	t.Parallel()
	hasSecond := inventory.Manager{Plane: true, Answers: true, ID: "plane", Moves: plane.Moves{Recorded: true},
		Clusters: []inventory.Cluster{{Owner: identity.Owner{Namespace: "default", Cluster: "demo", ID: "second"}}}}
	second := state.Cluster{OwnerID: "second", Namespace: "default", Plane: "plane", Engine: state.Engine{Name: "docker", Endpoint: "unix:///d", StorageID: "disk"}}
	for name, tc := range map[string]struct {
		reason string
		before state.Cluster
		want   state.Cluster
		warned bool
	}{
		"new":      {"There was none.", state.Cluster{}, second, false},
		"lost":     {"Its containers are there.", state.Cluster{OwnerID: "first"}, state.Cluster{OwnerID: "first"}, true},
		"deleted":  {"Nothing of it is left.", state.Cluster{OwnerID: "zeroth"}, second, false},
		"the same": {"It is updated.", state.Cluster{OwnerID: "second"}, second, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := opened(t, t.TempDir(), here)
			if tc.before.OwnerID != "" {
				must.Succeed(t, s.Save("demo", tc.before))
			}
			if diff := cmp.Diff(second, must.Get(s.SaveOwner(t.Context(), "demo", "second", hasSecond))(t)); diff != "" {
				t.Errorf("%s The owner (-want +got):\n%s", tc.reason, diff)
			}
			got, _ := s.Get("demo")
			if diff := cmp.Diff(tc.want, got); diff != "" || strings.Contains(warnings(s), "gc --owner first --yes") != tc.warned {
				t.Errorf("%s Record (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// "Not found" says nothing where the cluster may be on another engine.
func TestElsewhere(t *testing.T) {
	t.Parallel()
	other := state.Engine{Name: "docker", Endpoint: "unix:///other", StorageID: "other disk"}
	for name, tc := range map[string]struct {
		reason       string
		here, others state.Cluster
		want         string
	}{
		"nowhere":       {"Its name is mistyped.", state.Cluster{}, state.Cluster{}, ""},
		"here":          {"Its containers prove it.", state.Cluster{OwnerID: "first", Engine: other}, state.Cluster{}, ""},
		"other data":    {"The engine had other data.", state.Cluster{OwnerID: "gone", Engine: other}, state.Cluster{}, "it was created on docker at unix:///other"},
		"the same data": {"It was deleted here.", state.Cluster{OwnerID: "gone", Engine: state.Engine{StorageID: "disk"}}, state.Cluster{}, ""},
		"other engine":  {"It is recorded there.", state.Cluster{}, state.Cluster{OwnerID: "x", Engine: other}, "docker 28 at unix:///d has other data"},
		"early record":  {"It has no engine.", state.Cluster{}, state.Cluster{OwnerID: "x"}, "it was created on an engine, "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			s := opened(t, root, here)
			for directory, record := range map[state.Directory]state.Cluster{s.Directory: tc.here, state.For(root, "docker", "other"): tc.others} {
				if record.OwnerID != "" {
					must.Succeed(t, directory.Save("demo", record))
				}
			}
			err := s.Elsewhere(t.Context(), "demo")
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s Got %v", tc.reason, err)
			}
		})
	}
}

// Docker is down and Podman is not: what Docker has is not "not found".
func TestCheckPassedOver(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, chosen, passedOver, want string
	}{
		"has clusters":     {"They would be reported as not found.", "podman", "unix:///d", `docker at unix:///d, which has cluster "demo", does not respond; start it, or use podman at unix:///c instead: --engine podman`},
		"of the same name": {"Its name would not select it.", "docker", "unix:///d", "DOCKER_HOST=unix:///c"},
		"has none":         {"It may be passed over.", "podman", "unix:///e", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root := t.TempDir()
			must.Succeed(t, state.For(root, "docker", "d").Save("demo", state.Cluster{OwnerID: "x", Engine: state.Engine{Name: "docker", Endpoint: "unix:///d"}}))
			s := opened(t, root, engine.Info{
				Name: tc.chosen, ID: "c", Endpoint: "unix:///c", PassedOver: []string{tc.passedOver}, Traits: engine.Traits{SocketVariable: "DOCKER_HOST"},
			})
			err := s.CheckPassedOver()
			if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
				t.Errorf("%s Got %v", tc.reason, err)
			}
		})
	}
}

// What cannot be read or written is reported once, and keeps no command from its work.
func TestUnreadable(t *testing.T) {
	t.Parallel()
	s := opened(t, t.TempDir(), here)
	must.Succeed(t, s.Save("demo", state.Cluster{OwnerID: "first"}))
	must.Succeed(t, os.WriteFile(filepath.Join(s.ClusterPath("demo"), "cluster.json"), []byte("{"), 0o600))
	must.Succeed(t, os.WriteFile(filepath.Join(filepath.Dir(s.ClusterPath("demo")), ".DS_Store"), nil, 0o600))
	for range 2 {
		if names := s.Names(); len(names) != 1 {
			t.Errorf("names: %v", names)
		}
		if record, found := s.Get("demo"); !found || record.OwnerID != "" {
			t.Errorf("record: %+v, %t", record, found)
		}
		s.Unsaved(errors.New("disk full"))
		s.ForgetOwner("demo", "")
	}
	got := warnings(s)
	for _, word := range []string{".DS_Store", "cluster.json", "disk full"} {
		if strings.Count(got, word) != 1 {
			t.Errorf("Want %q once in:\n%s", word, got)
		}
	}
	if _, found := s.Get("demo"); !found {
		t.Error("a record that cannot be read is no proof that nothing is left")
	}
}
