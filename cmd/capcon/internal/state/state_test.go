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

package state

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestRoot(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason      string
		system      string
		environment map[string]string
		want        string
	}{
		"XDG":             {"The user's wish counts.", "linux", map[string]string{"XDG_STATE_HOME": "/s", "HOME": "/h"}, "/s/capcon"},
		"relative XDG":    {"The specification has it ignored.", "linux", map[string]string{"XDG_STATE_HOME": "s", "HOME": "/h"}, "/h/.local/state/capcon"},
		"home":            {"The default.", "linux", map[string]string{"HOME": "/h"}, "/h/.local/state/capcon"},
		"macOS":           {"As other command-line programs have it.", "darwin", map[string]string{"HOME": "/h"}, "/h/.local/state/capcon"},
		"Windows":         {"It has no HOME.", "windows", map[string]string{"LocalAppData": "/u/AppData/Local"}, "/u/AppData/Local/capcon"},
		"XDG on Windows":  {"The user's wish counts.", "windows", map[string]string{"XDG_STATE_HOME": "/s", "LocalAppData": "/u"}, "/s/capcon"},
		"HOME on Windows": {"Git's shell sets it, others do not.", "windows", map[string]string{"HOME": "/h", "LocalAppData": "/u"}, "/u/capcon"},
		"none":            {"There is no place.", "linux", nil, ""},
		"none on Windows": {"There is no place.", "windows", nil, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := rootOn(tc.system, func(key string) string { return tc.environment[key] })
			if got != tc.want || (err != nil) != (tc.want == "") {
				t.Errorf("%s Want %q, got %q, %v", tc.reason, tc.want, got, err)
			}
		})
	}
}

func TestDirectoryProtectsWhatItHolds(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "capcon")
	if err := os.MkdirAll(root, 0o755); err != nil { // as a careless user would
		t.Fatal(err)
	}
	directory := For(root, "docker", "ID:1")
	fill(t, directory)

	got := map[string]fs.FileMode{}
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(root, path)
		got[relative] = info.Mode().Perm()
		return err
	})
	must.Succeed(t, err)
	want := map[string]fs.FileMode{
		".":                   0o700,
		"docker-395e5e2ec7ba": 0o700,
		"docker-395e5e2ec7ba/management.kubeconfig":      0o600,
		"docker-395e5e2ec7ba/node-images":                0o700,
		"docker-395e5e2ec7ba/node-images/sha256-1.json":  0o600,
		"docker-395e5e2ec7ba/clusters":                   0o700,
		"docker-395e5e2ec7ba/clusters/demo":              0o700,
		"docker-395e5e2ec7ba/clusters/demo/kubeconfig":   0o600,
		"docker-395e5e2ec7ba/clusters/demo/cluster.json": 0o600,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("modes differ (-want +got):\n%s", diff)
	}
}

func TestForgetLeavesNothing(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "capcon")
	directory := For(root, "docker", "ID:1")
	fill(t, directory)
	for range 2 { // forgetting twice is no error
		must.Succeed(t, errors.Join(directory.Forget("demo"), directory.ForgetManagement()))
	}
	if _, err := os.Stat(root); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("Nothing must be left once the last cluster is gone, got: %v", err)
	}
}

func TestForgetLeavesOthersAlone(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "capcon")
	one, other := For(root, "docker", "a"), For(root, "docker", "b")
	fill(t, one)
	fill(t, other)
	must.Succeed(t, errors.Join(one.Forget("demo"), one.ForgetManagement()))
	names, _, err := other.Clusters()
	must.Succeed(t, err)
	if diff := cmp.Diff([]string{"demo"}, names); diff != "" {
		t.Errorf("clusters of the other engine differ (-want +got):\n%s", diff)
	}
}

func TestAFileInPlaceOfTheDirectoryIsAnError(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "capcon")
	must.Succeed(t, os.WriteFile(root, nil, 0o600))
	directory := For(root, "docker", "id")
	_, all := All(root)
	_, _, clusters := directory.Clusters()
	_, _, loaded := directory.Load("demo")
	for what, err := range map[string]error{
		"All": all, "Clusters": clusters, "Load": loaded, "Save": directory.Save("demo", Cluster{OwnerID: "x"}),
		"ForgetManagement": directory.ForgetManagement(),
	} {
		if err == nil {
			t.Errorf("%s has to fail", what)
		}
	}
}

func TestSaveAndLoad(t *testing.T) {
	t.Parallel()
	directory := For(filepath.Join(t.TempDir(), "capcon"), "docker", "ID:1")
	if _, found, err := directory.Load("demo"); found || err != nil {
		t.Fatalf("Nothing is saved yet, got: %v, %v", found, err)
	}
	fill(t, directory)
	got, found, err := directory.Load("demo")
	if err != nil || !found {
		t.Fatalf("Load: %v, %v", found, err)
	}
	if diff := cmp.Diff(Cluster{OwnerID: "abc", Namespace: "default"}, got); diff != "" {
		t.Errorf("cluster differs (-want +got):\n%s", diff)
	}
}

// Other programs put files anywhere, such as .DS_Store and the backups of editors.
func TestForeignFilesAreNoRecords(t *testing.T) {
	t.Parallel()
	root := filepath.Join(t.TempDir(), "capcon")
	directory := For(root, "docker", "ID:1")
	fill(t, directory)
	clusters := filepath.Dir(directory.ClusterPath("demo"))
	must.Succeed(t, errors.Join(
		os.WriteFile(filepath.Join(root, ".DS_Store"), nil, 0o600), os.Mkdir(filepath.Join(root, "docker-backup"), 0o700),
		os.WriteFile(filepath.Join(clusters, ".DS_Store"), nil, 0o600), os.WriteFile(filepath.Join(clusters, "lab"), nil, 0o600),
		os.Mkdir(filepath.Join(clusters, "demo~"), 0o700),
	))
	names, foreign, err := directory.Clusters()
	must.Succeed(t, err)
	want := []string{filepath.Join(clusters, ".DS_Store"), filepath.Join(clusters, "demo~"), filepath.Join(clusters, "lab")}
	if diff := cmp.Diff([][]string{{"demo"}, want}, [][]string{names, foreign}); diff != "" {
		t.Errorf("clusters and foreign files (-want +got):\n%s", diff)
	}
	if all := must.Get(All(root))(t); len(all) != 1 || all[0] != directory {
		t.Errorf("engines: got %v", all)
	}
}

func TestNodeImage(t *testing.T) {
	t.Parallel()
	directory := For(filepath.Join(t.TempDir(), "capcon"), "docker", "ID:1")
	var got []string
	if directory.NodeImage("sha256:1", &got) {
		t.Fatalf("Nothing is saved yet, got: %v", got)
	}
	fill(t, directory)
	if directory.NodeImage("sha256:2", &got) {
		t.Fatalf("Another image is saved, got: %v", got)
	}
	found := directory.NodeImage("sha256:1", &got)
	if diff := cmp.Diff([]string{"v1"}, got); !found || diff != "" {
		t.Errorf("found %v, image differs (-want +got):\n%s", found, diff)
	}
}

func TestManagementKubeconfig(t *testing.T) {
	t.Parallel()
	directory := For(filepath.Join(t.TempDir(), "capcon"), "docker", "ID:1")
	if got := directory.ManagementKubeconfig(); got != nil {
		t.Fatalf("Nothing is saved yet, got: %s", got)
	}
	fill(t, directory)
	if diff := cmp.Diff("b", string(directory.ManagementKubeconfig())); diff != "" {
		t.Errorf("kubeconfig differs (-want +got):\n%s", diff)
	}
}

func fill(t *testing.T, directory Directory) {
	t.Helper()
	_, clusterErr := directory.WriteKubeconfig("demo", []byte("a"))
	_, planeErr := directory.WriteManagementKubeconfig([]byte("b"))
	err := errors.Join(clusterErr, planeErr, directory.Save("demo", Cluster{OwnerID: "abc", Namespace: "default"}),
		directory.SaveNodeImage("sha256:1", []string{"v1"}))
	must.Succeed(t, err)
}
