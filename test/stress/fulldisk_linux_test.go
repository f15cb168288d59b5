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

package stress_test

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/v1/tarball"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/hostinfo"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/enginetest"
	"github.com/capi-samples/cluster-api-provider-container/internal/imagepull"
	"github.com/capi-samples/cluster-api-provider-container/test/builders"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	fullDiskImage = "localhost/capcon-test/full-disk:v1"
	noSpace       = "no space left on device"
)

// TestIntegrationFullDisk has an engine whose disk is full, or almost: the container
// cannot be created, or its bootstrap data cannot be copied into it. The condition
// says why, nothing that is incomplete runs, and the container does once there is
// space again.
//
// Environment:
//
//	STORAGE  set where the engine's storage is a small file system of its own, which
//	         the test fills; the test is skipped otherwise
func TestIntegrationFullDisk(t *testing.T) {
	if os.Getenv("STORAGE") == "" {
		t.Skip("fills the disk of the engine; run make e2e RUN=full-disk")
	}
	eng := integration.Engine(t)
	info := must.Get(eng.Info(t.Context()))(t)
	disk := map[string]string{"docker": "/var/lib/docker", "podman": "/var/lib/containers"}[info.Name]
	var archive bytes.Buffer
	tag := must.Get(name.NewTag(fullDiskImage))(t)
	must.Succeed(t, tarball.Write(tag, enginetest.BuildImage(t, info.Architecture), &archive))
	must.Succeed(t, eng.LoadImage(t.Context(), &archive))
	t.Cleanup(func() { removeImage(t, info.Name, fullDiskImage) })
	for name, left := range map[string]int64{"nothing left": 0, "too little left for the bootstrap data": 256 << 10} {
		//nolint:paralleltest // Each fills the disk.
		t.Run(name, func(t *testing.T) {
			s := newSubject(t, eng, eng, fullDiskImage)
			// The image is no node: nothing can be found out about the host with it.
			s.host = hostinfo.NewKnown(hostinfo.Facts{})
			s.restart(imagepull.NewTracker(eng))
			s.growBootstrapData()
			free := fill(t, disk, left)
			s.awaitMessage(infrav1.ContainerReadyCondition, noSpace)
			t.Log(s.state(infrav1.ContainerReadyCondition))
			for _, container := range s.containers() {
				if container.Status != engine.StatusCreated {
					t.Errorf("container %s is %s though its content is incomplete", container.Name, container.Status)
				}
			}
			free()
			s.await(infrav1.ContainerReadyCondition, "True/")
			if found := s.containers(); len(found) != 1 || found[0].Status != engine.StatusRunning {
				t.Errorf("containers %+v, want one that runs", found)
			}
		})
	}
}

// growBootstrapData beyond what an almost full disk takes.
func (s *subject) growBootstrapData() {
	s.t.Helper()
	secret := builders.New().Secret
	secret.Data["value"] = []byte(bootstrapData + "write_files:\n- path: /large\n  content: " + strings.Repeat("x", 512<<10) + "\n")
	must.Succeed(s.t, s.api.Update(s.t.Context(), secret))
}

// fill the file system at the directory until so many bytes are left.
func fill(t *testing.T, directory string, left int64) (free func()) {
	t.Helper()
	var disk syscall.Statfs_t
	must.Succeed(t, syscall.Statfs(directory, &disk))
	if total := int64(disk.Blocks) * disk.Bsize; total > 4<<30 { //nolint:gosec // Of a small file system.
		t.Fatalf("%s has %d GiB: it is not the small file system of this test", directory, total>>30)
	}
	file := must.Get(os.Create(filepath.Join(directory, "filler")))(t)
	free = func() { _ = os.Remove(file.Name()) }
	t.Cleanup(free)
	defer file.Close()
	if size := int64(disk.Bavail)*disk.Bsize - left; size > 0 { //nolint:gosec // Of a small file system.
		if err := syscall.Fallocate(int(file.Fd()), 0, 0, size); err != nil {
			t.Fatalf("fill %s with %d bytes: %v", directory, size, err)
		}
	}
	return free
}
