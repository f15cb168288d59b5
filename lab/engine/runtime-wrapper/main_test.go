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

package main

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// allButSysResource is the bounding set of a host without CAP_SYS_RESOURCE (24).
const allButSysResource = capabilitySet(0x1fffeffffff)

func TestParseInvocation(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason string
		args   []string
		want   invocation
	}{
		"Create": {
			reason: "containerd's shim gives global flags first, then the subcommand and its flags.",
			args: []string{
				"--root", "/run/runc", "--log", "create", "--log-format", "json", "--systemd-cgroup",
				"create", "--bundle", "/run/b", "--pid-file", "/run/b/init.pid", "id",
			},
			want: invocation{command: "create", bundle: "/run/b"},
		},
		"Joined": {
			reason: "A value may follow its flag in the same argument.",
			args:   []string{"--root=/run/runc", "run", "--bundle=/run/b", "id"},
			want:   invocation{command: "run", bundle: "/run/b"},
		},
		"Short": {
			reason: "Both flags have a short spelling.",
			args:   []string{"create", "-b", "/run/b", "id"},
			want:   invocation{command: "create", bundle: "/run/b"},
		},
		"DefaultBundle": {
			reason: "Without the flag runc reads the working directory.",
			args:   []string{"create", "id"},
			want:   invocation{command: "create", bundle: "."},
		},
		"ExecWithProcess": {
			reason: "An exec names its process in a file.",
			args:   []string{"--debug", "exec", "--process", "/tmp/p", "--detach", "id"},
			want:   invocation{command: "exec", bundle: ".", process: "/tmp/p"},
		},
		"ExecWithFlags": {
			reason: "What follows the container's id belongs to the command that runs in it.",
			args:   []string{"exec", "id", "ls", "-p"},
			want:   invocation{command: "exec", bundle: "."},
		},
		"ExecWithCommandFlags": {
			reason: "A flag with a value that follows the container's id is the command's.",
			args:   []string{"exec", "-t", "--cwd", "/", "id", "mkdir", "-p", "/a"},
			want:   invocation{command: "exec", bundle: "."},
		},
		"NoCommand": {
			reason: "runc --version has no subcommand and changes nothing.",
			args:   []string{"--version"},
			want:   invocation{bundle: "."},
		},
		"Other": {
			reason: "Other subcommands pass through.",
			args:   []string{"--root", "/run/runc", "delete", "--force", "id"},
			want:   invocation{command: "delete", bundle: "."},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := parseInvocation(tc.args)
			if diff := cmp.Diff(tc.want, got, cmp.AllowUnexported(invocation{})); diff != "" {
				t.Errorf("%s\nparseInvocation(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestParseBoundingSet(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason    string
		status    string
		want      capabilitySet
		wantError bool
	}{
		"Found":   {reason: "The mask is hexadecimal.", status: "Name:\tx\nCapBnd:\t000001fffeffffff\nCapAmb:\t0\n", want: allButSysResource},
		"Absent":  {reason: "A kernel without the line cannot be judged.", status: "Name:\tx\n", wantError: true},
		"Garbage": {reason: "A mask that is no number is an error.", status: "CapBnd:\tall\n", wantError: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parseBoundingSet(tc.status)
			if (err != nil) != tc.wantError {
				t.Errorf("%s\nparseBoundingSet(...): want error %t, got %v", tc.reason, tc.wantError, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nparseBoundingSet(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRestrictConfig(t *testing.T) {
	t.Parallel()

	cases := map[string]struct {
		reason    string
		config    string
		want      string
		wantError bool
	}{
		"Privileged": {
			reason: "The lacking capability goes from every set, the rest stays in order.",
			config: `{"process":{"capabilities":{"bounding":["CAP_CHOWN","CAP_SYS_RESOURCE","CAP_BPF"],"effective":["CAP_SYS_RESOURCE"]}}}`,
			want:   `{"process":{"capabilities":{"bounding":["CAP_CHOWN","CAP_BPF"],"effective":[]}}}`,
		},
		"Unrelated": {
			reason: "Members that are not understood, large numbers among them, are kept as they are.",
			config: `{"linux":{"x":18446744073709551615},"process":{"args":["a"],"capabilities":{"ambient":["CAP_KILL"]}}}`,
			want:   `{"linux":{"x":18446744073709551615},"process":{"args":["a"],"capabilities":{"ambient":["CAP_KILL"]}}}`,
		},
		"UnknownCapability": {
			reason: "A capability newer than the table is for runc to judge.",
			config: `{"process":{"capabilities":{"bounding":["CAP_FUTURE"]}}}`,
			want:   `{"process":{"capabilities":{"bounding":["CAP_FUTURE"]}}}`,
		},
		"NoCapabilities": {
			reason: "A process without capabilities needs no change.",
			config: `{"process":{"args":["a"]}}`,
			want:   `{"process":{"args":["a"]}}`,
		},
		"NoProcess": {
			reason: "A container without a process needs no change.",
			config: `{"ociVersion":"1.0.2"}`,
			want:   `{"ociVersion":"1.0.2"}`,
		},
		"Null": {
			reason: "Null is as good as absent.",
			config: `{"process":null}`,
			want:   `{"process":null}`,
		},
		"NoJSON":    {reason: "A file that is no JSON is an error.", config: `{`, wantError: true},
		"WrongType": {reason: "Capabilities that are no lists are an error.", config: `{"process":{"capabilities":{"bounding":1}}}`, wantError: true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := restrictConfig([]byte(tc.config), allButSysResource)
			if (err != nil) != tc.wantError {
				t.Errorf("%s\nrestrictConfig(...): want error %t, got %v", tc.reason, tc.wantError, err)
			}
			if diff := cmp.Diff(tc.want, string(got)); diff != "" {
				t.Errorf("%s\nrestrictConfig(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestAdapt(t *testing.T) {
	t.Parallel()

	const (
		process    = `{"capabilities":{"bounding":["CAP_SYS_RESOURCE"]}}`
		restricted = `{"capabilities":{"bounding":[]}}`
	)
	cases := map[string]struct {
		reason  string
		command string
		want    map[string]string
	}{
		"Create": {
			reason:  "Creating a container reads its config.json.",
			command: "create",
			want:    map[string]string{"config.json": `{"process":` + restricted + `}`, "process.json": process},
		},
		"Exec": {
			reason:  "An exec reads its own process file.",
			command: "exec",
			want:    map[string]string{"config.json": `{"process":` + process + `}`, "process.json": restricted},
		},
		"Delete": {
			reason:  "Nothing is read, nothing is written.",
			command: "delete",
			want:    map[string]string{"config.json": `{"process":` + process + `}`, "process.json": process},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			write(t, dir, map[string]string{"config.json": `{"process":` + process + `}`, "process.json": process})

			inv := invocation{command: tc.command, bundle: dir, process: filepath.Join(dir, "process.json")}
			if err := adapt(inv, allButSysResource); err != nil {
				t.Fatalf("%s\nadapt(...): %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, read(t, dir)); diff != "" {
				t.Errorf("%s\nadapt(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRewriteFileKeepsTheOldTextOnError(t *testing.T) {
	t.Parallel()

	dir := t.TempDir()
	write(t, dir, map[string]string{"config.json": "{"})
	if err := adapt(invocation{command: "create", bundle: dir}, allButSysResource); err == nil {
		t.Error("adapt(...): want an error for a file that is no JSON, got none")
	}
	if diff := cmp.Diff(map[string]string{"config.json": "{"}, read(t, dir)); diff != "" {
		t.Errorf("the directory after a failed rewrite: -want, +got:\n%s", diff)
	}
}

func TestCapabilityNames(t *testing.T) {
	t.Parallel()

	// CAP_SYS_RESOURCE is 24 and CAP_CHECKPOINT_RESTORE, the last, is 40: one name
	// too many or too few in between shifts the mask.
	want := map[int]string{24: "CAP_SYS_RESOURCE", 40: "CAP_CHECKPOINT_RESTORE"}
	got := map[int]string{24: capabilityNames[24], 40: capabilityNames[40]}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("capabilityNames: -want, +got:\n%s", diff)
	}
}

func write(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func read(t *testing.T, dir string) map[string]string {
	t.Helper()
	entries, err := os.ReadDir(dir)
	files := map[string]string{}
	for _, entry := range entries {
		text, readErr := os.ReadFile(filepath.Join(dir, entry.Name()))
		err = errors.Join(err, readErr)
		files[entry.Name()] = string(text)
	}
	if err != nil {
		t.Fatal(err)
	}
	return files
}
