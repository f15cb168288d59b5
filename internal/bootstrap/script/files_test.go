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

package script

import (
	"fmt"
	"io/fs"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestScriptFiles(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		// before is what the file holds already.
		before string
		file   userdata.File
		want   string
		mode   fs.FileMode
	}{
		"plain": {
			reason: "a file has mode 0644 unless asked otherwise, and missing parents are made",
			file:   userdata.File{Path: "/a/b/c", Content: []byte("x")}, want: "x", mode: 0o644,
		},
		"mode": {
			reason: "modes are kept", file: userdata.File{Path: "/key", Mode: 0o600, Content: []byte("k\n")}, want: "k\n", mode: 0o600,
		},
		"set-uid": {
			reason: "special bits are kept", file: userdata.File{Path: "/bin/tool", Mode: 0o4755}, mode: 0o755 | fs.ModeSetuid,
		},
		"replace": {
			reason: "a file that exists is replaced and gets the mode", before: "long old content",
			file: userdata.File{Path: "/etc/x", Mode: 0o640, Content: []byte("new")}, want: "new", mode: 0o640,
		},
		"append": {
			reason: "append keeps what is there", before: "old\n",
			file: userdata.File{Path: "/etc/x", Append: true, Content: []byte("new\n")}, want: "old\nnew\n", mode: 0o644,
		},
		"append to nothing": {
			reason: "append makes a file that is missing",
			file:   userdata.File{Path: "/etc/y", Append: true, Content: []byte("new\n")}, want: "new\n", mode: 0o644,
		},
		"binary": {
			reason: "content is bytes", file: userdata.File{Path: "/bin/b", Content: []byte("\x00\xff\n\r\n\x00")},
			want: "\x00\xff\n\r\n\x00", mode: 0o644,
		},
	}
	hostile := []string{
		"/etc/$(touch $ROOT/pwned)", "/etc/`touch $ROOT/pwned`", "/etc/a';touch \"$ROOT/pwned\";'", `/etc/a";touch "$ROOT/pwned";"`,
		"/etc/a; touch $ROOT/pwned", "/etc/ leading and trailing ", "/-rf", "/--help", "/etc/-n", `/etc/back\\slash\n`, "/etc/*", "/etc/[a-z]",
		"/etc/~", "/etc/$ROOT", "/etc/ü漢\u00a0", "/etc/#x", "/etc/%s%n", "/etc/&", "/etc/a|b>c<d", "/etc/!x", "/$(touch $ROOT/pwned)/x",
	}
	for _, path := range hostile {
		cases["hostile "+path] = struct {
			reason string
			before string
			file   userdata.File
			want   string
			mode   fs.FileMode
		}{reason: "a path is data, never shell", file: userdata.File{Path: path, Content: []byte("h")}, want: "h", mode: 0o644}
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNode(t, Input{Config: userdata.Config{Files: []userdata.File{tc.file}}})
			if tc.before != "" {
				n.write(tc.file.Path, tc.before)
			}
			n.bootDone()
			if got := n.read(tc.file.Path); got != tc.want {
				t.Errorf("%s: content %q, want %q", tc.reason, got, tc.want)
			}
			info := must.Get(os.Stat(n.path(tc.file.Path)))(t)
			if got := info.Mode(); got != tc.mode {
				t.Errorf("%s: mode %v, want %v", tc.reason, got, tc.mode)
			}
			if n.exists("pwned") {
				t.Errorf("%s: a command in a path was run", tc.reason)
			}
		})
	}
}

func TestScriptOwner(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root gives files away")
	}
	n := newNode(t, Input{Config: userdata.Config{Files: []userdata.File{
		{Path: "/a", Owner: "1:2", Mode: 0o600},
		{Path: "/b"},
		{Path: "/c", Owner: "3"},
		{Path: "/d", Owner: "no-such-user"},
	}}})
	if code := n.boot(); code != 1 {
		t.Errorf("exit code %d, want 1: an owner that does not exist fails", code)
	}
	if got := n.result(); got.Step != "write_files[3]" || got.State != record.Failed {
		t.Errorf("it failed at write_files[3], got %+v", got)
	}
	for name, want := range map[string]string{"/a": "1:2", "/b": "0:0", "/c": "3:0"} {
		info := must.Get(os.Stat(n.path(name)))(t)
		stat, _ := info.Sys().(*syscall.Stat_t)
		if got := fmt.Sprintf("%d:%d", stat.Uid, stat.Gid); got != want {
			t.Errorf("owner of %s is %s, want %s", name, got, want)
		}
	}
}

func TestScriptListCommands(t *testing.T) {
	t.Parallel()
	words := []string{
		"plain", "two words", "", "quote's", `double"quote`, "$HOME", "`id`", "$(id)", "new\nline", "tab\t", "*", "~", `\`, "-n",
		"!x", "#c", "a;b", "a&b", "ü漢", "trailing\n", "'", "''", `'\''`,
	}
	n := newNode(t, Input{Config: userdata.Config{Commands: []userdata.Command{
		{Args: append([]string{"sh", "-c", `out=$1; shift; for word; do printf "%s\0" "$word"; done >"$out"`, "sh", "words"}, words...)},
	}}})
	n.bootDone()
	got := strings.Split(strings.TrimSuffix(n.read("words"), "\x00"), "\x00")
	if diff := cmp.Diff(words, got); diff != "" {
		t.Errorf("each item of a list is one argument, unchanged (-want +got):\n%s", diff)
	}
}

func TestScriptKubeletFlags(t *testing.T) {
	t.Parallel()
	const (
		id     = "--provider-id=container:///m"
		label  = "--node-labels=topology.kubernetes.io/zone=a"
		cgroup = "--fail-cgroupv1=false"

		vmodule = "KUBELET_EXTRA_ARGS=--vmodule=x=2"
	)
	all := []string{id, label, cgroup}
	cases := map[string]struct {
		reason   string
		before   string
		config   userdata.Config
		flags    []string
		want     string
		noChange bool
	}{
		"no file": {
			reason: "the file is made", flags: all,
			want: "KUBELET_EXTRA_ARGS=" + id + " " + label + " " + cgroup + "\n",
		},
		"stock image": {
			reason: "what the image has stays and comes first, although its last line is not ended",
			before: "KUBELET_EXTRA_ARGS=--runtime-cgroups=/system.slice/containerd.service", flags: all,
			want: "KUBELET_EXTRA_ARGS=--runtime-cgroups=/system.slice/containerd.service\n" +
				"KUBELET_EXTRA_ARGS=--runtime-cgroups=/system.slice/containerd.service " + id + " " + label + " " + cgroup + "\n",
		},
		"user's file": {
			reason: "the user's file is merged after it was written",
			before: "KUBELET_EXTRA_ARGS=--image",
			config: userdata.Config{Files: []userdata.File{{Path: userdata.KubeletDefaults, Content: []byte("# mine\nKUBELET_EXTRA_ARGS=\"--v=4 --x=1\"\nOTHER=1\n")}}},
			flags:  []string{id},
			want:   "# mine\nKUBELET_EXTRA_ARGS=\"--v=4 --x=1\"\nOTHER=1\nKUBELET_EXTRA_ARGS=\"--v=4 --x=1 " + id + "\"\n",
		},
		"user's command": {
			reason: "a command that writes the file after us does not lose our flags",
			config: userdata.Config{Commands: shellCommands(`echo "KUBELET_EXTRA_ARGS='--v=4'" >"$ROOT` + userdata.KubeletDefaults + `"`)},
			flags:  []string{id},
			want:   "KUBELET_EXTRA_ARGS='--v=4'\nKUBELET_EXTRA_ARGS='--v=4 " + id + "'\n",
		},
		"last assignment counts": {
			reason: "systemd takes the last assignment, and joins lines", flags: []string{cgroup},
			before: "KUBELET_EXTRA_ARGS=--old\n  KUBELET_EXTRA_ARGS=--a \\\n--b\n",
			want:   "KUBELET_EXTRA_ARGS=--old\n  KUBELET_EXTRA_ARGS=--a \\\n--b\nKUBELET_EXTRA_ARGS=--a --b " + cgroup + "\n",
		},
		"user's provider ID": {
			reason: "the user's own flag wins, the others are added", flags: all,
			before: "KUBELET_EXTRA_ARGS=--provider-id=mine://1\n",
			want: "KUBELET_EXTRA_ARGS=--provider-id=mine://1\n" +
				"KUBELET_EXTRA_ARGS=--provider-id=mine://1 " + label + " " + cgroup + "\n",
		},
		"user's provider ID as two words": {
			reason: "a value may follow its flag", flags: []string{id}, noChange: true,
			before: "KUBELET_EXTRA_ARGS=--provider-id mine://1\n",
		},
		"longer flag": {
			reason: "a flag that begins alike is another", flags: []string{"--v=1"},
			before: vmodule + "\n",
			want:   vmodule + "\n" + vmodule + " --v=1\n",
		},
		"user's zone": {
			reason: "of a flag with pairs the user's pair wins", flags: []string{label}, noChange: true,
			before: "KUBELET_EXTRA_ARGS=--node-labels=x=1,topology.kubernetes.io/zone=mine\n",
		},
		"user's other label": {
			reason: "other pairs of the same flag are no reason to leave ours out", flags: []string{label},
			before: "KUBELET_EXTRA_ARGS=--node-labels=x=1\n",
			want:   "KUBELET_EXTRA_ARGS=--node-labels=x=1\nKUBELET_EXTRA_ARGS=--node-labels=x=1 " + label + "\n",
		},
		"no flags": {
			reason: "nothing to add changes nothing", before: "KUBELET_EXTRA_ARGS=--a", noChange: true,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.config.Commands = append(tc.config.Commands, shellCommands("true", "true")...)
			n := newNode(t, Input{Config: tc.config, KubeletFlags: tc.flags})
			if tc.before != "" {
				n.write(userdata.KubeletDefaults, tc.before)
			}
			n.bootDone()
			want := tc.want
			if tc.noChange {
				want = tc.before
			}
			if diff := cmp.Diff(want, n.read(userdata.KubeletDefaults)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestScriptUsers(t *testing.T) {
	t.Parallel()
	n := newNode(t, Input{Config: userdata.Config{
		Users: []userdata.User{
			{},
			{
				Name: "joe", Gecos: "Joe 'D' $(id)", Shell: "/bin/bash", PrimaryGroup: "staff", Groups: []string{"ops", "old"},
				PasswordHash: "$6$hash", Sudo: []string{"ALL=(ALL) NOPASSWD:ALL"}, SSHAuthorizedKeys: []string{"ssh-ed25519 AAAA joe@x", "ssh-rsa BBBB"},
			},
			{Name: "old", PasswordHash: "$6$ignored", NewPassword: "plain text", UnlockPassword: true, System: true},
		},
	}})
	const log = `printf '%s' "${0##*/}" >>"$ROOT/calls"; for a; do printf ' [%s]' "$a" >>"$ROOT/calls"; done; echo >>"$ROOT/calls"; `
	n.stub(map[string]string{
		// joe is there once useradd was called; old has always been.
		"getent": `case "$1 $2" in "group old" | "passwd old") ;; "passwd joe") grep -q 'useradd.*joe' "$ROOT/calls" || exit 2 ;; *) exit 2 ;; esac
echo "$2:x:1:1::/home/$2:/bin/sh"`,
		"groupadd": log,
		"useradd":  log,
		"passwd":   log,
		"chown":    log,
		"chpasswd": log + `cat >>"$ROOT/calls"`,
	})
	n.bootDone()
	want := unlines(
		"groupadd [--] [staff]",
		"groupadd [--] [ops]",
		"useradd [--comment=Joe 'D' $(id)] [--shell=/bin/bash] [--gid=staff] [--groups=ops,old] [--create-home] [--] [joe]",
		"chpasswd [--encrypted]",
		"joe:$6$hash",
		"passwd [--lock] [joe]",
		"chown [-R] [--] [joe:] ["+n.root+"/home/joe/.ssh]",
		"chpasswd",
		"old:plain text",
	)
	if diff := cmp.Diff(want, n.read("calls")); diff != "" {
		t.Errorf("accounts are made, and those that exist only completed (-want +got):\n%s", diff)
	}
	if got := n.read("etc/sudoers.d/90-cloud-init-users"); got != "joe ALL=(ALL) NOPASSWD:ALL\n" {
		t.Errorf("sudo rules %q", got)
	}
	if got := n.read("home/joe/.ssh/authorized_keys"); got != "ssh-ed25519 AAAA joe@x\nssh-rsa BBBB\n" {
		t.Errorf("keys %q", got)
	}
	for name, want := range map[string]fs.FileMode{
		"etc/sudoers.d/90-cloud-init-users": 0o440, "home/joe/.ssh/authorized_keys": 0o600, "home/joe/.ssh": 0o700,
	} {
		if info, err := os.Stat(n.path(name)); err != nil || info.Mode().Perm() != want {
			t.Errorf("mode of %s: %v %v, want %v", name, info.Mode(), err, want)
		}
	}
}
