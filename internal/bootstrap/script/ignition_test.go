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

// systemctl stands for systemd. Properties of a unit are files below /unit; starting the target that the script waits
// for runs /on-start, as the units would.
const systemctl = `
case $1 in
show) property=${2#--property=}; for unit; do :; done; cat "$ROOT/unit/$unit/$property" 2>/dev/null || echo; exit ;;
is-active) for unit; do :; done; [ "$(cat "$ROOT/unit/$unit/ActiveState" 2>/dev/null)" = active ]; exit ;;
esac
echo "$*" >>"$ROOT/calls"
case "$*" in
"start cluster-api-bootstrap-units.target") [ ! -e "$ROOT/on-start" ] || . "$ROOT/on-start" ;;
"enable --runtime -- missing.service") echo "Unit file missing.service does not exist." >&2; exit 1 ;;
esac`

// journalctl prints what a unit printed; with --follow, it does not end.
const journalctl = `
case "$*" in
*--follow*) exec sleep 600 ;;
*--unit=*) echo "last words of ${*##*--unit=}" ;;
esac`

// newIgnitionNode is a node whose units end as onStart says. By default the first writes the sentinel and ends.
func newIgnitionNode(t *testing.T, config userdata.Config, onStart string) *node {
	t.Helper()
	config.Format = userdata.FormatIgnition
	n := newNode(t, Input{Config: config, KubeletFlags: []string{"--provider-id=container:///m"}})
	n.stub(map[string]string{"systemctl": systemctl, "journalctl": journalctl})
	if onStart == "" {
		onStart = endsWell
	}
	n.write("on-start", onStart)
	n.write("run/systemd/system/x", "")
	return n
}

const endsWell = `mkdir -p "$ROOT/run/cluster-api" "$ROOT/unit/a.service" && echo success >"$ROOT/run/cluster-api/bootstrap-success.complete"
echo inactive >"$ROOT/unit/a.service/ActiveState"; echo 77 >"$ROOT/unit/a.service/InactiveExitTimestampMonotonic"`

// state is shell that gives a unit's properties values.
func state(unit string, properties ...string) string {
	text := `mkdir -p "$ROOT/unit/` + unit + `"`
	for i := 0; i+1 < len(properties); i += 2 {
		text += fmt.Sprintf("\necho '%s' >\"$ROOT/unit/%s/%s\"", properties[i+1], unit, properties[i])
	}
	return text + "\n"
}

func TestIgnitionUnits(t *testing.T) {
	t.Parallel()
	n := newIgnitionNode(t, userdata.Config{Units: []userdata.Unit{
		{Name: "a.service", Content: []byte("[Unit]\n"), Enabled: userdata.SwitchOn},
		{Name: "b.service", Content: []byte("gone"), Mask: true},
		{Name: "c.service", Enabled: userdata.SwitchOff},
		{Name: "a.service", DropIns: []userdata.DropIn{{Name: "1.conf", Content: []byte("[Service]\n")}}},
		{Name: "d.service", Enabled: userdata.SwitchOff},
	}}, `cp "$ROOT/run/systemd/system/kubelet.service.d/90-cluster-api-bootstrap.conf" "$ROOT/hook"
cp "$ROOT/run/systemd/system/cluster-api-bootstrap-units.target" "$ROOT/target"
/bin/sh "$ROOT`+Directory+`/bootstrap" kubelet
`+endsWell)
	n.write("unit/c.service/ActiveState", "active\n")
	n.write("unit/d.service/LoadState", "not-found\n")
	n.bootDone()
	if got := n.result(); got.State != record.Done || !got.KubernetesUp {
		t.Errorf("result %+v", got)
	}
	want := unlines(
		"disable -- c.service",
		"enable --runtime -- a.service",
		"daemon-reload",
		"stop -- c.service",
		"try-restart -- a.service",
		"start --no-block default.target",
		"start cluster-api-bootstrap-units.target",
		"enable -- a.service",
		"daemon-reload",
	)
	if diff := cmp.Diff(want, n.read("calls")); diff != "" {
		t.Errorf("units are enabled for good only when all went well (-want +got):\n%s", diff)
	}
	if got := n.read("etc/systemd/system/a.service.d/1.conf"); got != "[Service]\n" {
		t.Errorf("drop-in %q", got)
	}
	if target, err := os.Readlink(n.path("etc/systemd/system/b.service")); err != nil || target != "/dev/null" {
		t.Errorf("a masked unit leads to %q (%v)", target, err)
	}
	if hook := n.read("hook"); !strings.Contains(hook, "ExecStartPre=-/bin/sh "+n.path(Directory)+"/bootstrap kubelet") {
		t.Errorf("the kubelet's flags are seen to when it starts: %q", hook)
	}
	if target := n.read("target"); !strings.Contains(target, "After=a.service\n") || strings.Contains(target, "Wants") {
		t.Errorf("the target waits for what is started, and starts nothing itself: %q", target)
	}
	if got := n.read(userdata.KubeletDefaults); strings.Count(got, "--provider-id") != 1 {
		t.Errorf("the kubelet's flags are merged once: %q", got)
	}
	for _, left := range []string{"run/systemd/system/cluster-api-bootstrap-units.target", "run/systemd/system/kubelet.service.d/90-cluster-api-bootstrap.conf"} {
		if n.exists(left) {
			t.Errorf("%s is left", left)
		}
	}
	n.expectCleanedUp()
}

func TestIgnitionUnitsFail(t *testing.T) {
	t.Parallel()
	enabled := func(names ...string) userdata.Config {
		var config userdata.Config
		for _, name := range names {
			config.Units = append(config.Units, userdata.Unit{Name: name, Enabled: userdata.SwitchOn})
		}
		return config
	}
	const sentinel = `mkdir -p "$ROOT/run/cluster-api" && : >"$ROOT/run/cluster-api/bootstrap-success.complete"` + "\n"
	cases := map[string]struct {
		reason  string
		config  userdata.Config
		onStart string
		want    record.Result
	}{
		"exit code": {
			reason: "a unit that fails ends the bootstrap with its exit code", config: enabled("a.service"),
			onStart: state("a.service", "ActiveState", "failed", "ExecMainCode", "1", "ExecMainStatus", "42"),
			want:    record.Result{Step: "systemd.units[0]", ExitCode: 42, LogTail: "last words of a.service"},
		},
		"signal": {
			reason: "a signal counts as in a shell", config: enabled("a.service"),
			onStart: state("a.service", "ActiveState", "failed", "ExecMainCode", "2", "ExecMainStatus", "9"),
			want:    record.Result{Step: "systemd.units[0]", ExitCode: 137, LogTail: "last words of a.service"},
		},
		"before its program": {
			reason: "a unit may fail before its program runs", config: enabled("a.service"),
			onStart: state("a.service", "ActiveState", "failed", "ExecMainCode", "0", "ExecMainStatus", "0"),
			want:    record.Result{Step: "systemd.units[0]", ExitCode: 1, LogTail: "last words of a.service"},
		},
		"after the sentinel": {
			reason: "Kubernetes may be up, and a later command fail", config: enabled("b.timer", "a.service"),
			onStart: sentinel + state("b.timer", "ActiveState", "active") +
				state("a.service", "ActiveState", "failed", "ExecMainCode", "1", "ExecMainStatus", "3"),
			want: record.Result{Step: "systemd.units[1]", ExitCode: 3, LogTail: "last words of a.service", KubernetesUp: true},
		},
		"never started": {
			reason: "a unit whose requirements failed is not taken for one that ended well", config: enabled("a.service"),
			onStart: state("a.service", "ActiveState", "inactive", "InactiveExitTimestampMonotonic", "0", "ConditionTimestampMonotonic", "0",
				"WantedBy", "multi-user.target", "ExecMainCode", "0", "ExecMainStatus", "0"),
			want: record.Result{Step: "systemd.units[0]", ExitCode: 1, LogTail: "a.service: it was not started; a unit that it requires failed"},
		},
		"what it requires failed": {
			reason: "the cause is reported, not its effect", config: enabled("a.service", "b.service"),
			onStart: state("a.service", "ActiveState", "inactive", "InactiveExitTimestampMonotonic", "0", "ConditionTimestampMonotonic", "0",
				"WantedBy", "multi-user.target") + state("b.service", "ActiveState", "failed", "ExecMainCode", "1", "ExecMainStatus", "5"),
			want: record.Result{Step: "systemd.units[1]", ExitCode: 5, LogTail: "last words of b.service"},
		},
		"no sentinel": {
			reason: "units that end well and never say that the bootstrap succeeded have not bootstrapped", config: enabled("a.service", "b.service"),
			onStart: state("a.service", "ActiveState", "inactive", "InactiveExitTimestampMonotonic", "7") +
				state("b.service", "ActiveState", "inactive", "InactiveExitTimestampMonotonic", "7"),
			want: record.Result{Step: "systemd.units[1]", ExitCode: 1, LogTail: "no enabled unit runs any more, and none has written /run/cluster-api/bootstrap-success.complete"},
		},
		"unit that is not there": {
			reason: "a unit that the image lacks is named", config: enabled("missing.service"),
			want: record.Result{Step: "systemd.units[0]", ExitCode: 1, LogTail: "Unit file missing.service does not exist."},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newIgnitionNode(t, tc.config, tc.onStart)
			if code := n.boot(); code != tc.want.ExitCode {
				t.Errorf("%s: exit code %d:\n%s", tc.reason, code, n.journal)
			}
			got := n.result()
			if !strings.Contains(got.LogTail, tc.want.LogTail) {
				t.Errorf("%s: log tail %q", tc.reason, got.LogTail)
			}
			tc.want.State, tc.want.LogTail, tc.want.Changed = record.Failed, got.LogTail, got.Changed
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if strings.Contains(n.read("calls"), "enable -- ") {
				t.Errorf("%s: units were enabled for good", tc.reason)
			}
			n.expectCleanedUp()
		})
	}
}

// TestIgnitionWaitsForSentinel: a service that runs may write it later.
func TestIgnitionWaitsForSentinel(t *testing.T) {
	t.Parallel()
	n := newIgnitionNode(t, userdata.Config{Units: []userdata.Unit{{Name: "a.service", Enabled: userdata.SwitchOn}}},
		state("a.service", "ActiveState", "active")+`{ sleep 0.3; mkdir -p "$ROOT/run/cluster-api"; : >"$ROOT/run/cluster-api/bootstrap-success.complete"; } &`)
	if code := n.boot(); code != 0 || n.result().State != record.Done {
		t.Errorf("exit code %d:\n%s", code, n.journal)
	}
}

func TestIgnitionStorage(t *testing.T) {
	t.Parallel()
	n := newIgnitionNode(t, userdata.Config{
		Directories: []userdata.Dir{
			{Path: "/new/parent/deep", Mode: 0o750},
			{Path: "/new/parent", Mode: 0o711},
			{Path: "/emptied", Mode: 0o755, Overwrite: userdata.SwitchOn},
		},
		Files: []userdata.File{
			{Path: "/none", Mode: userdata.NoPermissions, Defer: true},
			{Path: "/was-link", Overwrite: userdata.SwitchOn, Content: []byte("file"), Defer: true},
			{Path: "/was-directory", Overwrite: userdata.SwitchOn, Content: []byte("file"), Defer: true},
			{Path: "/appended", Append: true, KeepAttributes: true, Content: []byte("new"), Defer: true},
			{Path: "/fresh", Overwrite: userdata.SwitchOff, Content: []byte("file"), Defer: true},
		},
		Links: []userdata.Link{
			{Path: "/links/a; b", Target: "$(touch $ROOT/pwned)"},
			{Path: "/was-file", Target: "/fresh", Overwrite: userdata.SwitchOn},
			{Path: "/hard", Target: "/fresh", Hard: true},
		},
		Units: []userdata.Unit{{Name: "a.service", Enabled: userdata.SwitchOn}},
	}, "")
	n.write("emptied/old", "")
	n.write("was-directory/old", "")
	n.write("target", "untouched")
	n.write("was-file", "")
	n.write("appended", "old ")
	must.Succeed(t, os.Symlink("target", n.path("was-link")))
	must.Succeed(t, os.Chmod(n.path("appended"), 0o640))
	n.bootDone()
	for name, want := range map[string]string{"was-link": "file", "was-directory": "file", "target": "untouched", "appended": "old new", "hard": "file"} {
		if got := n.read(name); got != want {
			t.Errorf("%s holds %q, want %q", name, got, want)
		}
	}
	for name, want := range map[string]string{"links/a; b": "$(touch $ROOT/pwned)", "was-file": "/fresh"} {
		if got, err := os.Readlink(n.path(name)); got != want {
			t.Errorf("%s leads to %q (%v), want %q", name, got, err, want)
		}
	}
	for name, want := range map[string]fs.FileMode{
		"new": 0o711, "new/parent": 0o711, "new/parent/deep": 0o750, "emptied": 0o755, "none": 0, "appended": 0o640,
	} {
		info, err := os.Stat(n.path(name))
		if err != nil || info.Mode().Perm() != want {
			t.Errorf("mode of %s: %v (%v), want %v", name, info.Mode(), err, want)
		}
	}
	if n.exists("emptied/old") || n.exists("pwned") {
		t.Error("a directory that is overwritten is empty, and a target is data")
	}
	hard, _ := os.Stat(n.path("hard"))
	if stat, ok := hard.Sys().(*syscall.Stat_t); !ok || stat.Nlink != 2 {
		t.Error("/hard is not a hard link")
	}
}

func TestIgnitionMustNotOverwrite(t *testing.T) {
	t.Parallel()
	cases := map[string]userdata.Config{
		"storage.files[0]": {Files: []userdata.File{{Path: "/there", Overwrite: userdata.SwitchOff, Defer: true}}},
		"storage.links[0]": {Links: []userdata.Link{{Path: "/there", Target: "/x", Overwrite: userdata.SwitchOff}}},
	}
	for step, config := range cases {
		t.Run(step, func(t *testing.T) {
			t.Parallel()
			n := newIgnitionNode(t, config, "")
			n.write("there", "old")
			if code := n.boot(); code != 1 {
				t.Errorf("exit code %d", code)
			}
			if got := n.result(); got.Step != step || got.State != record.Failed || !strings.Contains(got.LogTail, "must not be overwritten") {
				t.Errorf("result %+v", got)
			}
			if got := n.read("there"); got != "old" {
				t.Errorf("it was changed to %q", got)
			}
		})
	}
}

func TestIgnitionAccounts(t *testing.T) {
	t.Parallel()
	n := newIgnitionNode(t, userdata.Config{
		Groups: []userdata.Group{{Name: "old", PasswordHash: "*"}, {Name: "g", GID: "9", System: true, PasswordHash: "$6$g"}},
		Users: []userdata.User{
			{Name: "old", Update: true, Shell: "/bin/x y", Groups: []string{"g"}, PasswordHash: "*", NewPasswordHash: "$6$x", UnlockPassword: true},
			{Name: "kept", Update: true, PasswordHash: "*", UnlockPassword: true},
			{Name: "new", Update: true, System: true, PasswordHash: "*", UnlockPassword: true},
		},
		Units: []userdata.Unit{{Name: "a.service", Enabled: userdata.SwitchOn}},
	}, "")
	const log = `printf '%s' "${0##*/}" >>"$ROOT/accounts"; for a; do printf ' [%s]' "$a" >>"$ROOT/accounts"; done; echo >>"$ROOT/accounts"; `
	n.stub(map[string]string{
		"getent":   `case "$2" in old | kept) ;; g) [ "$1" = group ] && grep -q 'groupadd.*g' "$ROOT/accounts" ;; *) exit 2 ;; esac`,
		"groupadd": log, "useradd": log, "usermod": log, "passwd": log,
		"chpasswd": log + `cat >>"$ROOT/accounts"`, "chgpasswd": log + `cat >>"$ROOT/accounts"`,
	})
	n.bootDone()
	want := unlines(
		"chgpasswd [--encrypted]", "old:*",
		"groupadd [--gid=9] [--system] [--] [g]",
		"chgpasswd [--encrypted]", "g:$6$g",
		"usermod [--shell=/bin/x y] [--groups=g] [--] [old]",
		"chpasswd [--encrypted]", "old:$6$x",
		"useradd [--system] [--create-home] [--] [new]",
		"chpasswd [--encrypted]", "new:*",
	)
	if diff := cmp.Diff(want, n.read("accounts")); diff != "" {
		t.Errorf("accounts are made or changed, and never locked (-want +got):\n%s", diff)
	}
}

// TestIgnitionInterrupted: a node that stops in the middle has nothing enabled that would run by itself at its next boot.
func TestIgnitionInterrupted(t *testing.T) {
	t.Parallel()
	n := newIgnitionNode(t, userdata.Config{Units: []userdata.Unit{{Name: "a.service", Enabled: userdata.SwitchOn}}}, `: >"$ROOT/reached"; exec sleep 600`)
	stopAt(t, n, "reached")
	if got := n.result(); got.State != record.Started || got.Step != "systemd.units[0]" {
		t.Errorf("while it runs: %+v", got)
	}
	if code := n.boot(); code != 1 || n.result().State != record.Interrupted {
		t.Errorf("the boot after: exit code %d, %+v", code, n.result())
	}
	if calls := n.read("calls"); !strings.Contains(calls, "enable --runtime -- a.service") || strings.Contains(calls, "enable -- ") {
		t.Errorf("calls:\n%s", calls)
	}
	n.expectCleanedUp()
}
