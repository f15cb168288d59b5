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
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-containerregistry/pkg/name"
	"github.com/google/go-containerregistry/pkg/registry"
	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/random"
	"github.com/google/go-containerregistry/pkg/v1/remote"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/controllers/hostinfo"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/enginetest"
	"github.com/capi-samples/cluster-api-provider-container/internal/imagepull"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// stallLimit is short enough for a test, and longer than a layer takes on a busy host.
const stallLimit = 10 * time.Second

// TestIntegrationStalledRegistry has a registry that sends half a layer and then
// nothing, on a connection that stays open. The condition says so, and the machine's
// container runs once the registry answers again.
func TestIntegrationStalledRegistry(t *testing.T) {
	t.Parallel()
	eng := integration.Engine(t)
	info := must.Get(eng.Info(t.Context()))(t)
	stalled := newStallingRegistry(t, enginetest.BuildImage(t, info.Architecture))
	// After the container: with force, the engine would remove that too, without its volume.
	t.Cleanup(func() { removeImage(t, info.Name, stalled.reference) })
	s := newSubject(t, eng, eng, stalled.reference)
	// The image is no node: nothing can be found out about the host with it.
	s.host = hostinfo.NewKnown(hostinfo.Facts{})
	images := imagepull.NewTracker(eng)
	images.Limits = imagepull.Limits{Progress: stallLimit, Layer: stallLimit}
	go func() { _ = images.Start(t.Context()) }()
	s.restart(images)

	s.await(infrav1.ContainerReadyCondition, "False/"+infrav1.ImagePullingReason)
	s.await(infrav1.ContainerReadyCondition, "False/"+infrav1.ImagePullFailedReason)
	if state := s.state(infrav1.ContainerReadyCondition); !strings.Contains(state, "no progress for "+stallLimit.String()) {
		t.Errorf("condition %q, want how long the registry has sent nothing", state)
	}
	if stalled.silent.Load() == 0 {
		t.Error("the registry was never silent, so this test proves nothing")
	}
	stalled.stalls.Store(false)
	s.await(infrav1.ContainerReadyCondition, "True/")
}

// stallingRegistry is a registry on this host with one image.
type stallingRegistry struct {
	reference string
	// stalls in the middle of the large layer, which silent counts.
	stalls atomic.Bool
	silent atomic.Int32
}

// newStallingRegistry serves the image with a large layer on top, which no engine has.
func newStallingRegistry(t *testing.T, image v1.Image) *stallingRegistry {
	t.Helper()
	const layerSize = 8 << 20
	layer, err := random.Layer(layerSize, "application/vnd.docker.image.rootfs.diff.tar.gzip")
	must.Succeed(t, err)
	digest := must.Get(layer.Digest())(t)
	if image, err = mutate.AppendLayers(image, layer); err != nil {
		t.Fatal(err)
	}
	r := &stallingRegistry{}
	content := registry.New(registry.Logger(log.New(io.Discard, "", 0)))
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if r.stalls.Load() && request.Method == http.MethodGet && strings.HasSuffix(request.URL.Path, "/blobs/"+digest.String()) {
			w = &halfWriter{ResponseWriter: w, left: layerSize / 2, silent: func() {
				r.silent.Add(1)
				// The engine hangs up, or the server ends with the test.
				<-request.Context().Done()
			}}
		}
		content.ServeHTTP(w, request)
	}))
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	r.reference = strings.TrimPrefix(server.URL, "http://") + "/stalled:v1"
	reference := must.Get(name.ParseReference(r.reference))(t)
	if err := remote.Write(reference, image); err != nil {
		t.Fatalf("push the image: %v", err)
	}
	r.stalls.Store(true)
	return r
}

// halfWriter writes so many bytes, and then is silent.
type halfWriter struct {
	http.ResponseWriter
	left   int
	silent func()
}

// Write implements io.Writer.
func (w *halfWriter) Write(content []byte) (int, error) {
	if len(content) < w.left {
		w.left -= len(content)
		return w.ResponseWriter.Write(content)
	}
	if _, err := w.ResponseWriter.Write(content[:w.left]); err != nil {
		return 0, err
	}
	w.left = 0
	if flusher, ok := w.ResponseWriter.(http.Flusher); ok {
		flusher.Flush()
	}
	w.silent()
	return 0, http.ErrAbortHandler
}
