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

package daemon

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func newTestIdentity(t *testing.T, dir string) *identity {
	t.Helper()
	id, err := newIdentity(Options{StateDir: dir, Manager: []string{"manager"}, APIAddress: "0.0.0.0", Ports: DefaultPorts(), Lifetime: DefaultLifetime})
	if err != nil {
		t.Fatalf("newIdentity(...): %v", err)
	}
	return id
}

// files of a directory and their content.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	found := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		found[strings.TrimPrefix(path, dir+"/")] = string(content)
		return err
	})
	if err != nil {
		t.Fatalf("read %s: %v", dir, err)
	}
	return found
}

func TestIdentityIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	newTestIdentity(t, dir)
	first := files(t, dir)
	newTestIdentity(t, dir)
	if diff := cmp.Diff(first, files(t, dir)); diff != "" {
		t.Errorf("files after a second start: -first, +second:\n%s", diff)
	}
}

// A container that was lost is recreated without the feature gates that were requested once.
func TestFeatureGatesAreKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "feature-gates")
	for _, step := range []struct{ requested, want string }{
		{"", ""}, {"A=true", "A=true"}, {"", "A=true"}, {"A=false", "A=false"}, {"", "A=false"},
	} {
		got, err := keepSetting(path, step.requested)
		if err != nil || got != step.want {
			t.Errorf("keepSetting(%q): want %q, got %q, %v", step.requested, step.want, got, err)
		}
	}
	id := newTestIdentity(t, t.TempDir())
	before := id.managerProcess().Args
	id.opts.FeatureGates = "A=true"
	if diff := cmp.Diff(append([]string{"--feature-gates=A=true"}, before...), id.managerProcess().Args); diff != "" {
		t.Errorf("arguments of the manager (-want +got):\n%s", diff)
	}
	id.opts.FeatureGates = ""
	for allowed, want := range map[string][]string{
		"": nil, plane.NoEngines: nil, "default=ssh://me@a:22,tcp://b": {"--allowed-engine-endpoints=default=ssh://me@a:22,tcp://b"},
	} {
		id.opts.AllowedEngines = allowed
		if diff := cmp.Diff(append(want, before...), id.managerProcess().Args); diff != "" {
			t.Errorf("%q: arguments of the manager (-want +got):\n%s", allowed, diff)
		}
	}
}

func TestStateIsPrivate(t *testing.T) {
	t.Parallel()
	dir := filepath.Join(t.TempDir(), "state")
	// A volume comes with a directory that others may read.
	must.Succeed(t, os.Mkdir(dir, 0o755))
	newTestIdentity(t, dir)
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		if info.Mode().Perm()&0o077 != 0 {
			t.Errorf("%s has mode %s: others may get at it", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Fatalf("walk: %v", err)
	}
}

func TestRenewalKeepsKubeconfig(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	id := newTestIdentity(t, dir)
	before := files(t, dir)
	renewed, err := id.renew(time.Now().Add(300 * 24 * time.Hour))
	if err != nil {
		t.Fatalf("renew(...): %v", err)
	}
	want := []string{"kube-apiserver", "webhooks", "kube-controller-manager", "etcd", "kube-apiserver-etcd-client"}
	if diff := cmp.Diff(want, renewed); diff != "" {
		t.Errorf("renewed certificates: -want, +got:\n%s", diff)
	}
	after := files(t, dir)
	for name := range before {
		changed := before[name] != after[name]
		leaf := strings.HasSuffix(name, ".pem") && !strings.HasSuffix(name, "-ca.pem") && !strings.Contains(name, "service-account")
		if changed != leaf {
			t.Errorf("%s changed with the renewal: %t, want %t", name, changed, leaf)
		}
	}
}

// TestNoSecretInArguments: arguments are in the process list of the host.
func TestNoSecretInArguments(t *testing.T) {
	t.Parallel()
	id := newTestIdentity(t, t.TempDir())
	for _, process := range []struct{ args, environment []string }{
		{id.etcdProcess().Args, id.etcdProcess().Environment},
		{id.apiServerProcess().Args, id.apiServerProcess().Environment},
		{id.controllerManagerProcess().Args, id.controllerManagerProcess().Environment},
		{id.managerProcess().Args, id.managerProcess().Environment},
	} {
		for user, token := range id.tokens {
			if strings.Contains(strings.Join(append(process.args, process.environment...), " "), token) {
				t.Errorf("the token of %s is among the arguments %v", user, process.args)
			}
		}
	}
}

func TestOnlyTheAPIIsReachable(t *testing.T) {
	t.Parallel()
	id := newTestIdentity(t, t.TempDir())
	for _, process := range [][]string{id.etcdProcess().Args, id.controllerManagerProcess().Args, id.managerProcess().Args} {
		for _, arg := range process {
			name, value, _ := strings.Cut(arg, "=")
			listens := strings.Contains(name, "listen-") || name == "--bind-address" || name == "--health-address"
			if listens && !strings.Contains(value, "127.0.0.1") {
				t.Errorf("%s: want it on 127.0.0.1 only", arg)
			}
		}
	}
}

func TestRunWithoutPrograms(t *testing.T) {
	t.Parallel()
	err := Run(t.Context(), Options{StateDir: t.TempDir(), Binaries: t.TempDir()})
	if !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Run(...): want ErrNotExist immediately, got %v", err)
	}
}
