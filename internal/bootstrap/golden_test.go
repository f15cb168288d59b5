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

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/script"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

// TestArchiveGolden follows cloud-config and Ignition from the secret to the archive.
func TestArchiveGolden(t *testing.T) {
	t.Parallel()
	instance := userdata.Instance{ID: "demo-1-a1b2", Hostname: "demo-1", Zone: "a"}
	formats := map[string]string{".yaml": userdata.FormatCloudConfig, ".json": userdata.FormatIgnition}
	sources, err := filepath.Glob("testdata/archive/*.[yj]*")
	if err != nil || len(sources) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	for _, source := range sources {
		t.Run(filepath.Base(source), func(t *testing.T) {
			t.Parallel()
			data := must.Get(os.ReadFile(source))(t)
			config := must.Get(Parse(data, formats[filepath.Ext(source)], instance))(t)
			config = must.Get(config.Adapt())(t)
			in := script.Input{
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
			archive := must.Get(script.Archive(in))(t)
			got, file := listing(t, archive), strings.TrimSuffix(source, filepath.Ext(source))+".golden"
			if *update {
				must.Succeed(t, os.WriteFile(file, []byte(got), 0o644))
			} else if diff := cmp.Diff(string(must.Get(os.ReadFile(file))(t)), got); diff != "" {
				t.Errorf("%s (-want +got; go test -update writes it):\n%s", file, diff)
			}
			arePaths(t, archive, in.SystemFiles)
			again, err := script.Archive(in)
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
	allowed := append(script.Paths(), "/etc/systemd/system/kubelet.service.d")
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
	ours := [][]byte{nil}
	for _, file := range must.Get(filepath.Glob("script/*"))(t) {
		ours = append(ours, must.Get(os.ReadFile(file))(t))
	}
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
		if slices.ContainsFunc(ours, func(file []byte) bool { return bytes.Equal(content, file) }) {
			continue
		}
		for line := range strings.SplitSeq(strings.TrimSuffix(string(content), "\n"), "\n") {
			out.WriteString("    " + line + "\n")
		}
	}
}
