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

package nodefiles

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestNext(t *testing.T) {
	t.Parallel()
	a := File{"/a", "root:root", 0o644, []byte("a")}
	toml := File{"/etc/containerd/a.toml", "root", 0o600, []byte("b")}
	unit := File{"/etc/systemd/system/kubelet.service.d/a.conf", "0:0", 0o600, []byte("c")}
	is := func(files ...File) map[string]Present {
		present := map[string]Present{}
		for _, file := range files {
			sum := sha256.Sum256(file.Content)
			present[file.Path] = Present{true, file.Mode, "root", "root", "0", "0", hex.EncodeToString(sum[:])}
		}
		return present
	}
	changed := func(change func(*Present)) map[string]Present {
		present := is(a)
		one := present["/a"]
		change(&one)
		present["/a"] = one
		return present
	}
	record := func(restart string, paths ...string) Record {
		if restart == "" {
			return Record{Paths: paths}
		}
		return Record{Paths: paths, Restarts: map[string]string{containerd: restart}}
	}
	units := func(invocation, state, substate string) map[string]Unit {
		return map[string]Unit{containerd: {invocation, state, substate, "exit-code"}, kubelet: {"k", "active", "running", "success"}}
	}
	const path = "/etc/containerd/a.toml"
	cases := map[string]struct {
		reason string
		spec   Spec
		has    Observed
		want   Step
	}{
		"same":      {"Nothing is done twice.", Spec{Files: []File{a}, Known: []string{"/a"}}, Observed{Files: is(a)}, Step{}},
		"by number": {"Owners are names or numbers.", Spec{Files: []File{unit}}, Observed{Files: is(unit), Record: record("", unit.Path)}, Step{}},
		"new": {"What an update adds can be removed by another.", Spec{Files: []File{a}}, Observed{},
			Step{Action: PutRecord, Record: record("", "/a")}},
		"recorded": {"It is written after that.", Spec{Files: []File{a}}, Observed{Record: record("", "/a")}, Step{Action: Write, Files: []File{a}}},
		"known":    {"What the first boot wrote needs no record.", Spec{Files: []File{a}, Known: []string{"/a"}}, Observed{}, Step{Action: Write, Files: []File{a}}},
		"content":  {"The specification takes precedence.", Spec{Files: []File{a}, Known: []string{"/a"}}, Observed{Files: changed(func(p *Present) { p.Checksum = "0" })}, Step{Action: Write, Files: []File{a}}},
		"mode":     {"So it does here.", Spec{Files: []File{a}, Known: []string{"/a"}}, Observed{Files: changed(func(p *Present) { p.Mode = 0o600 })}, Step{Action: Write, Files: []File{a}}},
		"owner":    {"So it does here.", Spec{Files: []File{a}, Known: []string{"/a"}}, Observed{Files: changed(func(p *Present) { p.User, p.UID = "x", "1" })}, Step{Action: Write, Files: []File{a}}},
		"group":    {"So it does here.", Spec{Files: []File{a}, Known: []string{"/a"}}, Observed{Files: changed(func(p *Present) { p.Group, p.GID = "x", "1" })}, Step{Action: Write, Files: []File{a}}},
		"restart":  {"A restart is recorded before the file changes.", Spec{Files: []File{toml}, Known: []string{path}}, Observed{Units: units("1", "active", "")}, Step{Action: PutRecord, Record: record(pending)}},
		"again": {"Another change waits for another restart.", Spec{Files: []File{toml}, Known: []string{path}},
			Observed{Record: record("1"), Units: units("1", "active", "")}, Step{Action: PutRecord, Record: record(pending)}},
		"written": {"The invocation that is to end is the one that runs when all files are written.", Spec{Files: []File{toml}, Known: []string{path}},
			Observed{Files: is(toml), Record: record(pending), Units: units("1", "active", "")}, Step{Action: PutRecord, Record: record("1")}},
		"due": {"Then it is restarted.", Spec{Files: []File{toml}, Known: []string{path}},
			Observed{Files: is(toml), Record: record("1"), Units: units("1", "active", "")}, Step{Action: Restart, Unit: containerd}},
		"stopping": {"A restart is not interrupted by another.", Spec{Files: []File{toml}, Known: []string{path}},
			Observed{Files: is(toml), Record: record("1"), Units: units("1", "deactivating", "")}, Step{Action: Wait, Unit: containerd}},
		"starting": {"It is not done yet.", Spec{Files: []File{toml}, Known: []string{path}},
			Observed{Files: is(toml), Record: record("1"), Units: units("2", "activating", "start")}, Step{Action: Wait, Unit: containerd}},
		"crashing": {"systemd tries it again, and the user sees why.", Spec{Files: []File{toml}, Known: []string{path}},
			Observed{Files: is(toml), Record: record("1"), Units: units("2", "activating", "auto-restart")},
			Step{Action: Wait, Unit: containerd, Problem: "unit containerd is activating (exit-code); its log in the node has the cause: journalctl --unit containerd"}},
		"failed": {"systemd does not try it again.", Spec{Files: []File{toml}, Known: []string{path}},
			Observed{Files: is(toml), Record: record("1"), Units: units("2", "failed", "")},
			Step{Action: Restart, Unit: containerd, Problem: "unit containerd is failed (exit-code); its log in the node has the cause: journalctl --unit containerd"}},
		"restarted": {"The record ends with the update.", Spec{Files: []File{toml}, Known: []string{path}},
			Observed{Files: is(toml), Record: record("1"), Units: units("2", "active", "")}, Step{Action: PutRecord}},
		"never started": {"A unit that does not run has no invocation.", Spec{Files: []File{toml}, Known: []string{path}},
			Observed{Files: is(toml), Record: record("none"), Units: units("", "inactive", "")}, Step{Action: Restart, Unit: containerd}},
		"stale":           {"What the first boot wrote is removed.", Spec{Known: []string{"/a"}}, Observed{Files: is(a)}, Step{Action: Remove, Paths: []string{"/a"}}},
		"stale, recorded": {"So is what an update wrote.", Spec{}, Observed{Files: is(a), Record: record("", "/a")}, Step{Action: Remove, Paths: []string{"/a"}}},
		"stale, restart":  {"What reads it is restarted.", Spec{Known: []string{path}}, Observed{Files: is(toml)}, Step{Action: PutRecord, Record: record(pending)}},
		"removed":         {"It is forgotten after that.", Spec{}, Observed{Record: record("", "/a")}, Step{Action: PutRecord}},
		"kept":            {"What is kept is not removed.", Spec{Kept: []string{"/a"}, Known: []string{"/a"}}, Observed{Files: is(a)}, Step{}},
		"directory":       {"A directory is not removed.", Spec{Known: []string{"/a"}}, Observed{Files: map[string]Present{"/a": {}}}, Step{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, Next(tc.spec, tc.has), cmpopts.EquateEmpty()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestUnitOf(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"/etc/containerd/config.toml": containerd, "/etc/containerd/certs.d/x/hosts.toml": "", "/etc/containerdx": "",
		"/etc/systemd/system/kubelet.service.d/a.conf": kubelet, "/etc/kubernetes/manifests/a.yaml": "", "/tmp/test": "",
	} {
		if got := unitOf(name); got != want {
			t.Errorf("%s: got %q, want %q", name, got, want)
		}
	}
}

func TestParse(t *testing.T) {
	t.Parallel()
	got := must.Get(parse("path /b\nrestart containerd 1\nfile 0 644 root root 0 0 abc\nfile 1\nunit containerd\nInvocationID=2\nActiveState=active\n", []string{"/a"}))(t)
	want := Observed{
		Record: Record{[]string{"/b"}, map[string]string{containerd: "1"}},
		Files:  map[string]Present{"/a": {true, 0o644, "root", "root", "0", "0", "abc"}, "/b": {}},
		Units:  map[string]Unit{containerd: {Invocation: "2", State: "active"}},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, text := range []string{"file 1 644 root root 0 0 abc\n", "file 0 9 root root 0 0 abc\n", "file x\n", "file\n"} {
		if _, err := parse(text, []string{"/a"}); err == nil {
			t.Errorf("%q is not refused", text)
		}
	}
}
