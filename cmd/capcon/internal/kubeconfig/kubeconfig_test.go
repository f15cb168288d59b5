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

package kubeconfig

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// kubeconfigOf a cluster as Cluster API writes it.
const kubeconfigOf = `apiVersion: v1
kind: Config
current-context: demo-admin@demo
clusters: [{name: demo, cluster: {server: "https://127.0.0.1:40123"}}]
users: [{name: demo-admin, user: {token: TOKEN}}]
contexts: [{name: demo-admin@demo, context: {cluster: demo, user: demo-admin}}]
`

// users is what a user has, with a path that is relative to the file.
const usersOwn = `apiVersion: v1
kind: Config
current-context: dev
clusters: [{name: dev, cluster: {server: "https://dev:6443", certificate-authority: pki/ca.crt}}]
users: [{name: dev, user: {token: own}}]
contexts: [{name: dev, context: {cluster: dev, user: dev}}]
`

const docker = "docker at unix:///var/run/docker.sock"

func ownerOf(cluster string) Owner {
	return Owner{Cluster: cluster, Engine: docker, ID: cluster + "-id"}
}

func filesAt(paths ...string) Files {
	return Files{Source: "KUBECONFIG", Paths: paths, Switch: true, After: time.After}
}

func write(t *testing.T, path, content string) string {
	t.Helper()
	must.Succeed(t, os.MkdirAll(filepath.Dir(path), 0o700))
	must.Succeed(t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

func merge(t *testing.T, files Files, owner Owner) Written {
	t.Helper()
	return must.Get(files.Merge(t.Context(), owner, []byte(strings.ReplaceAll(kubeconfigOf, "TOKEN", owner.ID))))(t)
}

func load(t *testing.T, paths ...string) *api.Config {
	t.Helper()
	return must.Get((&clientcmd.ClientConfigLoadingRules{Precedence: paths, DoNotResolvePaths: true}).Load())(t)
}

func TestLocate(t *testing.T) {
	t.Parallel()
	join := func(paths ...string) string { return strings.Join(paths, string(filepath.ListSeparator)) }
	cases := map[string]struct {
		reason, flag string
		environment  map[string]string
		want         Files
	}{
		"Default": {"It is that of kubectl.", "", map[string]string{"HOME": "/home/user"}, Files{Source: "kubeconfig", Paths: []string{filepath.FromSlash("/home/user/.kube/config")}}},
		"Several": {"Each counts once, and none is empty.", "", map[string]string{"HOME": "/h", "KUBECONFIG": join("b", "", "a", "b")}, Files{Source: "KUBECONFIG", Paths: []string{"b", "a"}}},
		"Flag":    {"It has precedence.", "file", map[string]string{"KUBECONFIG": "other"}, Files{Source: "--kubeconfig", Paths: []string{"file"}}},
		"Empty":   {"As for kubectl, it is as if it were not set.", "", map[string]string{"HOME": "/h", "KUBECONFIG": ""}, Files{Source: "kubeconfig", Paths: []string{filepath.FromSlash("/h/.kube/config")}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := must.Get(Locate(tc.flag, func(key string) string { return tc.environment[key] }))(t)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	if _, err := Locate("", func(string) string { return "" }); err == nil || !strings.Contains(err.Error(), "--kubeconfig") {
		t.Errorf("without a home the remedy is missing: %v", err)
	}
}

func TestMergeAndRemove(t *testing.T) {
	t.Parallel()
	path := write(t, filepath.Join(t.TempDir(), "config"), usersOwn)
	before, files := load(t, path), filesAt(path)
	if has := must.Get(files.Has(ownerOf("demo")))(t); has {
		t.Error("there is a context before there is one")
	}
	must.Succeed(t, files.Check(t.Context(), ownerOf("demo")))
	if diff := cmp.Diff(usersOwn, string(must.Get(os.ReadFile(path))(t))); diff != "" {
		t.Errorf("the check changed the file (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(Written{Path: path, Context: "capcon-demo", Changed: true, Current: true}, merge(t, files, ownerOf("demo"))); diff != "" {
		t.Errorf("written (-want +got):\n%s", diff)
	}
	if again := merge(t, files, ownerOf("demo")); again.Changed {
		t.Error("the same merged again is a change")
	}
	got := load(t, path)
	if got.CurrentContext != "capcon-demo" || got.Contexts["capcon-demo"].AuthInfo != "capcon-demo" || got.Contexts["capcon-demo"].Cluster != "capcon-demo" ||
		got.AuthInfos["capcon-demo"].Token != "demo-id" || got.Clusters["capcon-demo"].Server != "https://127.0.0.1:40123" {
		t.Errorf("merged is %+v", got)
	}
	if ca := got.Clusters["dev"].CertificateAuthority; ca != "pki/ca.crt" {
		t.Errorf("the relative path of another entry became %s", ca)
	}
	if has := must.Get(files.Has(ownerOf("demo")))(t); !has {
		t.Error("the merged context is not found")
	}
	removed, current, err := files.Remove(t.Context(), ownerOf("demo"))
	if !removed || current != "dev" || err != nil {
		t.Errorf("removed %t, current %q, %v", removed, current, err)
	}
	if diff := cmp.Diff(before, load(t, path)); diff != "" {
		t.Errorf("not as before (-want +got):\n%s", diff)
	}
	entries := must.Get(os.ReadDir(filepath.Dir(path)))(t)
	if len(entries) != 1 {
		t.Errorf("a lock stays: %v", entries)
	}
}

func TestRefreshKeepsWhatTheUserSet(t *testing.T) {
	t.Parallel()
	path := write(t, filepath.Join(t.TempDir(), "config"), usersOwn)
	files := filesAt(path)
	merge(t, files, ownerOf("demo"))
	config := load(t, path)
	config.Contexts["capcon-demo"].Namespace = "team"
	must.Succeed(t, clientcmd.WriteToFile(*config, path))
	again := ownerOf("demo")
	again.ID, files.Switch = "recreated", false
	if written := merge(t, files, again); !written.Current {
		t.Error("the context is not current after a refresh")
	}
	got := load(t, path)
	if got.Contexts["capcon-demo"].Namespace != "team" || got.AuthInfos["capcon-demo"].Token != "recreated" {
		t.Errorf("refreshed is %+v, %+v", got.Contexts["capcon-demo"], got.AuthInfos["capcon-demo"])
	}
	if _, current, err := files.Remove(t.Context(), again); current != "dev" || err != nil {
		t.Errorf("current is %q, %v", current, err)
	}
}

// Each case is a list of steps: +NAME creates, -NAME deletes, =NAME is "kubectl config use-context".
func TestPreviousContext(t *testing.T) {
	t.Parallel()
	cases := map[string]struct{ reason, steps, want string }{
		"InOrder":        {"The last one is removed first.", "+a +b -b", "capcon-a"},
		"Reverse":        {"The one below is removed first.", "+a +b -a -b", "dev"},
		"Three":          {"The middle one is removed first.", "+a +b +c -b -c", "capcon-a"},
		"ThreeFromBelow": {"All lead to what was before them.", "+a +b +c -a -b -c", "dev"},
		"Again":          {"An update that makes it current again leads to no circle.", "+a +b +a -a", "capcon-b"},
		"AgainAll":       {"An update that makes it current again loses nothing.", "+a +b +a -a -b", "dev"},
		"AgainReverse":   {"An update that makes it current again loses nothing.", "+a +b +a -b -a", "dev"},
		"Chosen":         {"What the user chose stays.", "+a +b =dev -b -a", "dev"},
		"ChosenOne":      {"The user chose the one below.", "+a +b =capcon-a -a -b", "dev"},
		"NotCurrent":     {"It was never made current.", "~a =capcon-a -a", ""},
		"Deleted":        {"The previous context is not there anymore.", "+a !dev -a", ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := write(t, filepath.Join(t.TempDir(), "config"), usersOwn)
			files := filesAt(path)
			for step := range strings.FieldsSeq(tc.steps) {
				name := step[1:]
				switch step[0] {
				case '+', '~':
					files.Switch = step[0] == '+'
					merge(t, files, ownerOf(name))
				case '-':
					_, _, err := files.Remove(t.Context(), ownerOf(name))
					must.Succeed(t, err)
				default:
					config := load(t, path)
					if step[0] == '=' {
						config.CurrentContext = name
					} else {
						delete(config.Contexts, name)
					}
					must.Succeed(t, clientcmd.WriteToFile(*config, path))
				}
			}
			if got := load(t, path).CurrentContext; got != tc.want {
				t.Errorf("%s After %s the current context is %q, want %q", tc.reason, tc.steps, got, tc.want)
			}
		})
	}
}

func TestSeveralFiles(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	missing, first := filepath.Join(directory, "none", "missing"), filepath.Join(directory, "first")
	second := write(t, filepath.Join(directory, "second"), usersOwn)
	third := write(t, filepath.Join(directory, "third"), "")
	files := filesAt(missing, second, third)
	if written := merge(t, files, ownerOf("demo")); written.Path != second {
		t.Errorf("a new entry is in %s, want the first file that exists", written.Path)
	}
	if _, err := os.Stat(filepath.Dir(missing)); err == nil {
		t.Error("the directory of a file that gets nothing was created")
	}
	// A file before it does not take over the entry.
	write(t, first, "")
	files = filesAt(first, second, third)
	if written := merge(t, files, ownerOf("demo")); written.Path != second {
		t.Errorf("an existing entry is in %s, want %s", written.Path, second)
	}
	if got := load(t, first, second); len(load(t, first).Contexts) > 0 || got.CurrentContext != "capcon-demo" {
		t.Errorf("first has %+v, the current context is %s", load(t, first), got.CurrentContext)
	}
	// Without any file, kubectl takes the last one.
	files = filesAt(filepath.Join(directory, "x"), filepath.Join(directory, "y", "z"))
	if written := merge(t, files, ownerOf("demo")); written.Path != files.Paths[1] {
		t.Errorf("a new file is %s, want the last one", written.Path)
	}
	if mode := must.Get(os.Stat(files.Paths[1]))(t).Mode().Perm(); mode != 0o600 {
		t.Errorf("the mode of a new file is %o", mode)
	}
}

func TestRefused(t *testing.T) {
	t.Parallel()
	foreign := strings.ReplaceAll(usersOwn, "dev", "capcon-demo")
	cases := map[string]struct {
		reason  string
		prepare func(t *testing.T, directory string) (path string)
		words   []string
	}{
		"Directory": {"It has no entries.", func(_ *testing.T, directory string) string { return directory }, []string{"is a directory", "use the path of a file"}},
		"Device":    {"It keeps nothing.", func(*testing.T, string) string { return os.DevNull }, []string{"is not a regular file", "--kubeconfig"}},
		"Broken":    {"Nothing of the user's may be lost.", func(t *testing.T, directory string) string { return write(t, directory+"/config", "clusters: [") }, []string{"is not a kubeconfig", "line 1", "repair it"}},
		"OtherKind": {"It may be a mistake.", func(t *testing.T, directory string) string {
			return write(t, directory+"/config", "apiVersion: v1\nkind: Pod\n")
		}, []string{"is not a kubeconfig", "Pod"}},
		"BelowAFile": {"There can be no such file.", func(t *testing.T, directory string) string { return write(t, directory+"/file", "") + "/config" }, []string{"cannot be read: not a directory"}},
		"ReadOnly":   {"Even root cannot write.", func(*testing.T, string) string { return "/proc/version" }, []string{"/proc/version"}},
		"NoneThere":  {"Even root cannot create it.", func(*testing.T, string) string { return "/proc/none/config" }, []string{"cannot be written", "make file and directory writable"}},
		"Locked": {"Another process may be writing.", func(t *testing.T, directory string) string {
			write(t, directory+"/config.lock", "")
			return directory + "/config"
		}, []string{"is locked", "config.lock exists", "delete that file if neither kubectl nor capcon is running"}},
		"Foreign": {"It is the user's.", func(t *testing.T, directory string) string { return write(t, directory+"/config", foreign) }, []string{
			`has a context "capcon-demo" that capcon did not write`, "kubectl config delete-context capcon-demo; kubectl config delete-cluster capcon-demo; kubectl config delete-user capcon-demo", "use another name",
		}},
		"ForeignUser": {"Its context does not count alone.", func(t *testing.T, directory string) string {
			return write(t, directory+"/config", "users: [{name: capcon-demo, user: {token: own}}]")
		}, []string{`has a user "capcon-demo"`, "(kubectl config delete-user capcon-demo)"}},
		"OtherEngine": {"It is of another cluster.", func(t *testing.T, directory string) string {
			path := directory + "/config"
			merge(t, filesAt(path), Owner{Cluster: "demo", Engine: "podman at unix:///p.sock", ID: "other"})
			return path
		}, []string{`has a context "capcon-demo" of a cluster on podman at unix:///p.sock`}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := tc.prepare(t, t.TempDir())
			files := filesAt(path)
			files.After = func(time.Duration) <-chan time.Time {
				passed := make(chan time.Time)
				close(passed)
				return passed
			}
			before, _ := os.ReadFile(path)
			err := files.Check(t.Context(), ownerOf("demo"))
			if len(input.Problems(err)) != 1 {
				t.Fatalf("%s Want one problem, got %v", tc.reason, err)
			}
			for _, word := range append(tc.words, `KUBECONFIG "`+path+`"`) {
				if !strings.Contains(err.Error(), word) {
					t.Errorf("%s Want %q in %v", tc.reason, word, err)
				}
			}
			if strings.Contains(err.Error(), "token") {
				t.Errorf("the error has contents: %v", err)
			}
			if _, err := files.Merge(t.Context(), ownerOf("demo"), []byte(kubeconfigOf)); err == nil {
				t.Error("it was merged though the check refuses it")
			}
			if after, _ := os.ReadFile(path); !bytes.Equal(after, before) {
				t.Errorf("the file was changed to %s", after)
			}
		})
	}
}

// Only what capcon wrote for this cluster is removed.
func TestRemoveKeepsOthers(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config")
	files := filesAt(path)
	merge(t, files, ownerOf("demo"))
	before := must.Get(os.ReadFile(path))(t)
	for _, other := range []Owner{{Cluster: "demo", Engine: "podman", ID: "other"}, {Cluster: "dem", Engine: docker, ID: "demo-id"}, {Cluster: "demo", Engine: "podman"}} {
		if removed, _, err := files.Remove(t.Context(), other); removed || err != nil {
			t.Errorf("%+v: removed %t, %v", other, removed, err)
		}
	}
	if diff := cmp.Diff(string(before), string(must.Get(os.ReadFile(path))(t))); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	// The same engine through another endpoint.
	if removed, current, err := files.Remove(t.Context(), Owner{Cluster: "demo", Engine: "docker at tcp://127.0.0.1:2375", ID: "demo-id"}); !removed || current != "" || err != nil {
		t.Errorf("removed %t, current %q, %v", removed, current, err)
	}
}

// Commands that run at the same time all write.
func TestConcurrentMerges(t *testing.T) {
	t.Parallel()
	path := write(t, filepath.Join(t.TempDir(), "config"), usersOwn)
	names := strings.Fields("a b c d e f g h")
	var running sync.WaitGroup
	for _, name := range names {
		running.Go(func() {
			if _, err := filesAt(path).Merge(t.Context(), ownerOf(name), []byte(kubeconfigOf)); err != nil {
				t.Error(err)
			}
		})
	}
	running.Wait()
	for i, name := range names {
		removed, current, err := filesAt(path).Remove(t.Context(), ownerOf(name))
		if last := i == len(names)-1; !removed || err != nil || last && current != "dev" {
			t.Errorf("%s: removed %t, current %q, %v", name, removed, current, err)
		}
	}
}

func TestInterruptedWhileLocked(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "config")
	write(t, path+".lock", "")
	ctx, cancel := context.WithCancel(t.Context())
	files := filesAt(path)
	files.After = func(time.Duration) <-chan time.Time {
		cancel()
		return nil
	}
	if _, err := files.Merge(ctx, ownerOf("demo"), []byte(kubeconfigOf)); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestUnusableKubeconfig(t *testing.T) {
	t.Parallel()
	for _, kubeconfig := range []string{"[", "", "current-context: a\ncontexts: [{name: a, context: {cluster: a, user: a}}]"} {
		path := filepath.Join(t.TempDir(), "config")
		if _, err := filesAt(path).Merge(t.Context(), ownerOf("demo"), []byte(kubeconfig)); err == nil || !strings.Contains(err.Error(), `cluster "demo"`) {
			t.Errorf("%q: got %v", kubeconfig, err)
		}
	}
}
