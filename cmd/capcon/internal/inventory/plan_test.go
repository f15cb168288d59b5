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

package inventory

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func owned(id string) identity.Owner {
	return identity.Owner{Namespace: "default", Cluster: "c-" + id, ID: id}
}

func node(id string) Object {
	return Object{Kind: Container, Name: "node-" + id, Owner: owned(id), Role: identity.RoleWorker, Networks: []string{"capcon"}}
}

// on the engine of another host.
func on(object Object) Object {
	object.Engine = "build"
	return object
}

func TestPlan(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	plane := Manager{Name: "plane", Plane: true, Answers: true, ID: "p", Clusters: []Cluster{{Owner: owned("known"), Network: "capcon"}}}
	silent := Manager{Name: "plane", Plane: true, Detail: "is starting"}
	other := Manager{Name: "mine", Answers: true, Clusters: []Cluster{{Owner: owned("theirs"), Network: "net"}}}
	otherSilent := Manager{Name: "mine", Detail: "refused"}
	gone := []Record{{OwnerID: "gone", Plane: "p"}}
	net := func(name string, users ...string) Object { return Object{Kind: Network, Name: name, Users: users} }
	cases := map[string]struct {
		reason string
		world  World
		// want are actions and names, with a word of the reason.
		want []string
	}{
		"Known": {
			"What a manager has stays, and so does its network.",
			World{Managers: []Manager{plane}, Objects: []Object{net("capcon", "node-known"), node("known")}},
			[]string{"keep node-known: its cluster is in plane", "keep capcon: used by container node-known"},
		},
		"NetworkOfAnotherEngine": {
			"One of the same name is another one.",
			World{Managers: []Manager{plane}, Objects: []Object{net("capcon"), on(net("capcon")), on(node("known"))}},
			[]string{"keep node-known: its cluster is in plane", "keep capcon: used by cluster", "keep capcon: used by container node-known"},
		},
		"UnusedOfAnotherEngine": {
			"The management plane is not there.",
			World{Managers: []Manager{plane}, Objects: []Object{on(net("capcon"))}},
			[]string{"remove capcon: unused network"},
		},
		"ClusterOfAnotherEngine": {
			"A cluster is on one engine.",
			World{
				Managers: []Manager{{Name: "plane", Plane: true, Answers: true, Clusters: []Cluster{{Owner: owned("known"), Engine: "build", Network: "net"}}}},
				Objects:  []Object{net("net"), on(net("net"))},
			},
			[]string{"remove net: unused network", "keep net: used by cluster"},
		},
		"PlaneOfAnotherEngine": {
			"Its host has clusters of its own.",
			World{Managers: []Manager{plane}, Objects: []Object{on(net("capcon")), on(Object{Kind: Container, Name: "theirs", Role: identity.RolePlane})}},
			[]string{"keep theirs: belongs to a management plane", "keep capcon: reserved for the management plane of its host"},
		},
		"AllOfAnotherEngine": {
			"Management planes of its host are not asked.",
			World{All: true, Managers: []Manager{plane}, Objects: []Object{on(node("strange"))}},
			[]string{"keep node-strange: owner not found"},
		},
		"KnownElsewhere": {
			"Another management cluster counts as much.",
			World{Managers: []Manager{plane, other}, Objects: []Object{node("theirs"), net("net")}},
			[]string{"keep node-theirs: in mine", "keep net: used by cluster default/c-theirs of mine"},
		},
		"Orphan": {
			"What this user made and no plane has goes; the network stays for the plane.",
			World{Managers: []Manager{plane}, Records: gone, Objects: []Object{node("gone"), net("capcon", "node-gone")}},
			[]string{"remove node-gone: is in no management plane", "keep capcon: c-known"},
		},
		"OrphanWithoutPlane": {
			"No plane says that it was not moved; until the user says so, it stays.",
			World{Records: gone, Objects: []Object{net("capcon", "node-gone"), node("gone")}},
			[]string{"keep node-gone: no management plane shows whether it was moved", "keep capcon: used by container node-gone"},
		},
		"OrphanOfAnotherPlane": {
			"A plane that was created later cannot know it.",
			World{Managers: []Manager{{Name: "plane", Plane: true, Answers: true, ID: "p2"}}, Records: gone, Objects: []Object{node("gone")}},
			[]string{"keep node-gone: no management plane shows whether it was moved"},
		},
		"OrphanOfAPlaneThatRecordsNothing": {
			"An earlier version's record names no plane.",
			World{Managers: []Manager{plane}, Records: []Record{{OwnerID: "gone"}}, Objects: []Object{node("gone")}},
			[]string{"keep node-gone: no management plane shows whether it was moved"},
		},
		"Moved": {
			"Another management cluster has it, also where the user wants all that is in doubt.",
			World{Managers: []Manager{plane}, All: true, Records: []Record{{OwnerID: "gone", Plane: "p", Moved: true}}, Objects: []Object{node("gone")}},
			[]string{"keep node-gone: \"clusterctl move\" moved it to another management cluster"},
		},
		"MovedNamed": {
			"Until the user names its owner.",
			World{Managers: []Manager{plane}, Named: []string{"gone"}, Records: []Record{{OwnerID: "gone", Plane: "p", Moved: true}}, Objects: []Object{node("gone")}},
			[]string{"remove node-gone: selected by --owner"},
		},
		"OrphanNamedWithoutPlane": {
			"Then everything of it goes, in the order that works.",
			World{Records: gone, Named: []string{"gone"}, Objects: []Object{
				{Kind: Volume, Name: "vol", Owner: owned("gone")}, net("capcon", "node-gone"), node("gone"),
			}},
			[]string{"remove node-gone: selected by --owner", "remove capcon: unused network of this provider", "remove vol: selected by --owner"},
		},
		"Stranger": {
			"What another user made may have a manager that cannot be reached.",
			World{Managers: []Manager{plane}, Objects: []Object{node("strange"), net("capcon")}},
			[]string{"keep node-strange: query another management cluster", "keep capcon: used by container node-strange"},
		},
		"StrangerNamed": {
			"Until the user names its owner, also one whose cluster was made through the API.",
			World{Managers: []Manager{plane}, Named: []string{"strange"}, Objects: []Object{node("strange"), node("other")}},
			[]string{"remove node-strange: selected by --owner", "keep node-other: delete it with --owner other"},
		},
		"KnownNamed": {
			"What a manager has stays even so.",
			World{Managers: []Manager{plane}, Named: []string{"known"}, Objects: []Object{node("known")}},
			[]string{"keep node-known: its cluster is in plane"},
		},
		"StrangerAll": {
			"Until the user says so.",
			World{All: true, Objects: []Object{node("strange"), net("capcon", "node-strange")}},
			[]string{"remove node-strange: selected by --all", "remove capcon: unused network of this provider"},
		},
		"Silent": {
			"A plane that does not answer may have anything, also what is saved.",
			World{Managers: []Manager{silent}, Records: gone, Objects: []Object{node("gone"), node("strange"), net("capcon")}},
			[]string{"keep node-gone: not available (is starting)", "keep node-strange: not available", "keep capcon: node-gone"},
		},
		"SilentAll": {
			"Until the user says so; its own network stays.",
			World{All: true, Managers: []Manager{silent}, Records: gone, Objects: []Object{node("gone"), net("capcon")}},
			[]string{"remove node-gone: selected by --all", "keep capcon: reserved for"},
		},
		"SilentElsewhere": {
			"What this user's capcon made is not in a management cluster elsewhere.",
			World{Managers: []Manager{plane, otherSilent}, Records: gone, Objects: []Object{node("gone"), node("strange")}},
			[]string{"remove node-gone: is in no management plane", "keep node-strange: mine, which is not available (refused)"},
		},
		"Planes": {
			"Planes are never removed.",
			World{All: true, Managers: []Manager{silent}, Objects: []Object{
				{Kind: Container, Name: "capcon-plane", Role: identity.RolePlane}, {Kind: Volume, Name: "capcon-plane", Role: identity.RolePlane},
			}},
			[]string{"keep capcon-plane: belongs to a management plane", "keep capcon-plane: belongs to a management plane"},
		},
		"Probes": {
			"A probe takes seconds.",
			World{Now: now, Objects: []Object{
				{Kind: Container, Name: "new", Role: identity.RoleProbe, CreatedAt: now.Add(-time.Second)},
				{Kind: Container, Name: "old", Role: identity.RoleProbe, CreatedAt: now.Add(-time.Hour)},
			}},
			[]string{"keep new: probe container in use", "remove old: orphaned probe container"},
		},
		"Creations": {
			"Creating a network takes a moment, and clocks may differ; nothing else is asked about it.",
			World{Now: now, Managers: []Manager{silent}, Objects: []Object{
				{Kind: Network, Name: "n-new", Creating: "n", CreatedAt: now.Add(-time.Minute)},
				{Kind: Network, Name: "n-old", Creating: "n", CreatedAt: now.Add(-time.Hour)},
				{Kind: Volume, Name: "n-ahead", Creating: "n", CreatedAt: now.Add(time.Minute)},
				{Kind: Volume, Name: "n-claim", Creating: "n", CreatedAt: now.Add(-time.Hour)},
			}},
			[]string{"keep n-new: possibly being created", "remove n-old: an interrupted creation of network n", "keep n-ahead: possibly being created", "remove n-claim: interrupted creation"},
		},
		"Odd": {
			"Without an owner ID nothing is known, whatever the user says.",
			World{All: true, Objects: []Object{{Kind: Container, Name: "odd", Role: identity.RoleWorker}, {Kind: Volume, Name: "odd"}}},
			[]string{"keep odd: no owner ID", "keep odd: no owner ID"},
		},
		"ForeignOnNetwork": {
			"A container that is not ours keeps the network it is on.",
			World{Objects: []Object{net("capcon", "someone")}},
			[]string{"keep capcon: used by container someone"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			decisions := Plan(tc.world)
			if len(decisions) != len(tc.want) {
				t.Fatalf("%s\nGot %+v", tc.reason, decisions)
			}
			for i, decision := range decisions {
				action := "keep"
				if decision.Remove {
					action = "remove"
				}
				head, words, _ := strings.Cut(tc.want[i], ": ")
				if got := action + " " + decision.Name; got != head || !strings.Contains(decision.Reason, words) {
					t.Errorf("%s\nGot %s: %s, want %s", tc.reason, got, decision.Reason, tc.want[i])
				}
			}
		})
	}
}

// Only what carries the labels is found, each with its place.
func TestCollect(t *testing.T) {
	t.Parallel()
	e := simulated.New()
	e.AddImage(engine.Image{Tags: []string{"image:1"}}, nil)
	ctx := t.Context()
	for name, labels := range map[string]map[string]string{
		"ours": {identity.LabelManaged: "true"}, "foreign": nil, "temporary": {engine.LabelCreating: "ours"},
	} {
		must.Get(e.CreateNetwork(ctx, engine.NetworkSpec{Name: name, Labels: labels}))(t)
		must.Succeed(t, e.CreateVolume(ctx, name, labels))
	}
	labels := owned("a").ContainerLabels(identity.RoleWorker, "m")
	labels[identity.LabelNetwork] = "ours"
	for name, labels := range map[string]map[string]string{"node": labels, "someone": nil} {
		spec := engine.Spec{Name: name, Image: "image:1", Labels: labels, Attachment: engine.Attachment{Network: "ours"}}
		must.Get(e.CreateContainer(ctx, spec))(t)
	}
	must.Succeed(t, e.StartContainer(ctx, "someone"))
	got := must.Get(Collect(ctx, e))(t)
	for i := range got {
		if got[i].CreatedAt.IsZero() {
			t.Errorf("%s %s has no age", got[i].Kind, got[i].Name)
		}
		if hasID := got[i].ID != ""; hasID != (got[i].Kind == Container) {
			t.Errorf("%s %s has the ID %q", got[i].Kind, got[i].Name, got[i].ID)
		}
		got[i].CreatedAt, got[i].ID = time.Time{}, ""
	}
	want := []Object{
		{Kind: Container, Name: "node", Owner: owned("a"), Role: identity.RoleWorker, Machine: "m", Status: engine.StatusCreated, Networks: []string{"ours"}},
		{Kind: Network, Name: "ours", Users: []string{"someone"}},
		{Kind: Network, Name: "temporary", Creating: "ours"},
		{Kind: Volume, Name: "ours"},
		{Kind: Volume, Name: "temporary", Creating: "ours"},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("collected (-want +got):\n%s", diff)
	}
}
