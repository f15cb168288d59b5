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

package bootstrap

import (
	"archive/tar"
	"bytes"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		must.Succeed(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	want := must.Get(os.ReadFile(file))(t)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; go test -update writes it):\n%s", file, diff)
	}
}

// TestArchiveGolden follows cloud-config and Ignition from the secret to the archive.
func TestArchiveGolden(t *testing.T) {
	t.Parallel()
	instance := Instance{ID: "demo-1-a1b2", Hostname: "demo-1", Zone: "a"}
	formats := map[string]string{".yaml": FormatCloudConfig, ".json": FormatIgnition}
	sources, err := filepath.Glob("testdata/archive/*.[yj]*")
	if err != nil || len(sources) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	for _, source := range sources {
		t.Run(filepath.Base(source), func(t *testing.T) {
			t.Parallel()
			data := must.Get(os.ReadFile(source))(t)
			config := must.Get(Parse(data, formats[filepath.Ext(source)], instance))(t)
			config = must.Get(config.Adapt(ContainerAdaptation()))(t)
			in := Input{
				Config:   config,
				Instance: instance,
				KubeletFlags: []string{
					"--provider-id=container:///demo-demo-1", "--node-labels=topology.kubernetes.io/zone=a", "--fail-cgroupv1=false",
				},
				SystemFiles: map[string]string{
					"etc/systemd/system/containerd.service.d/10-b.conf": "[Service]\n",
					"etc/systemd/system/containerd.service.d/20-a.conf": "[Service]\n",
				},
			}
			archive := must.Get(Archive(in))(t)
			golden(t, strings.TrimSuffix(source, filepath.Ext(source))+".golden", listing(t, archive))
			arePaths(t, archive, in.SystemFiles)
			again, err := Archive(in)
			if err != nil || !bytes.Equal(archive, again) {
				t.Errorf("equal input gives equal bytes (%v)", err)
			}
		})
	}
}

// arePaths checks that an archive puts nothing where neither Paths nor the system's files say so.
func arePaths(t *testing.T, archive []byte, systemFiles map[string]string) {
	t.Helper()
	// What hides the kubelet's drop-in costs no more than that drop-in.
	allowed := append(Paths(), "/"+kubeletDropIns)
	for name := range systemFiles {
		allowed = append(allowed, "/"+path.Dir(name))
	}
	reader := tar.NewReader(bytes.NewReader(archive))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		must.Succeed(t, err)
		known := slices.ContainsFunc(allowed, func(known string) bool {
			return strings.HasPrefix("/"+strings.TrimSuffix(header.Name, "/")+"/", known+"/")
		})
		if !known {
			t.Errorf("%s is in the archive and not among Paths", header.Name)
		}
	}
}

// listing shows an archive as text, without the files that are the same in each.
func listing(t *testing.T, archive []byte) string {
	t.Helper()
	var out strings.Builder
	reader := tar.NewReader(bytes.NewReader(archive))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return out.String()
		}
		must.Succeed(t, err)
		content := must.Get(io.ReadAll(reader))(t)
		fmt.Fprintf(&out, "%v %d:%d %s", header.FileInfo().Mode(), header.Uid, header.Gid, header.Name)
		if header.Linkname != "" {
			fmt.Fprintf(&out, " -> %s", header.Linkname)
		}
		out.WriteString("\n")
		ours := [][]byte{nil, script, ignitionScript, initScript, kubeletScript, kubeletDropIn, unit}
		if slices.ContainsFunc(ours, func(file []byte) bool { return bytes.Equal(content, file) }) {
			continue
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(string(content), "\n"), "\n") {
			out.WriteString("    " + line + "\n")
		}
	}
}

func TestAdaptKubeadmGolden(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob("testdata/kubeadm/*.yaml")
	if err != nil || len(sources) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	for _, source := range append(sources, "testdata/kubeadm/script.sh") {
		t.Run(filepath.Base(source), func(t *testing.T) {
			t.Parallel()
			data := must.Get(os.ReadFile(source))(t)
			got := must.Get(adaptKubeadm(data, ContainerAdaptation()))(t)
			again, err := adaptKubeadm(got, ContainerAdaptation())
			if err != nil || !bytes.Equal(got, again) {
				t.Errorf("what is adapted needs nothing more (%v):\n%s", err, cmp.Diff(string(got), string(again)))
			}
			switch filepath.Base(source) {
			case "not-kubeadm.yaml", "cluster-only.yaml", "script.sh":
				if !bytes.Equal(data, got) {
					t.Errorf("it must stay byte for byte:\n%s", cmp.Diff(string(data), string(got)))
				}
			default:
				golden(t, strings.TrimSuffix(source, ".yaml")+".golden", string(got))
			}
		})
	}
}
