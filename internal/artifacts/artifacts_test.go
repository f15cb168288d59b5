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

package artifacts

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const container = "node"

func newEngine(t *testing.T, files map[string]string) *simulated.Engine {
	t.Helper()
	e := simulated.New()
	e.AddImage(engine.Image{Tags: []string{"image:1"}}, nil)
	_, err := e.CreateContainer(t.Context(), engine.Spec{Name: container, Image: "image:1"})
	err = errors.Join(err, e.StartContainer(t.Context(), container))
	for name, content := range files {
		err = errors.Join(err, e.WriteFile(container, name, []byte(content)))
	}
	must.Succeed(t, err)
	e.SetLog(container, "systemd says --token abcdef.0123456789abcdef\n")
	e.HandleExec(func(_ string, command engine.Command) (engine.Output, error) {
		return engine.Output{Stdout: []byte(strings.Join(command.Args[:2], " ") + " correct horse\n")}, nil
	})
	return e
}

// collect returns the artifacts without the description of the container.
func collect(t *testing.T, run func(Collector) error, e Engine) map[string]string {
	t.Helper()
	written := map[string]string{}
	err := run(Collector{Engine: e, Write: func(name string, content []byte) error {
		written[name] = string(content)
		return nil
	}})
	if err != nil {
		t.Error(err)
	}
	delete(written, "container.json")
	return written
}

// A command that is killed leaves no file: the logs of Pods have no name while they are on the disk.
func TestNodeLeavesNoFile(t *testing.T) {
	directory := t.TempDir()
	t.Setenv("TMPDIR", directory)
	e := newEngine(t, map[string]string{podLogs + "/kube-system_etcd_1/etcd/0.log": "line\n"})
	isWritten := false
	write := func(name string, _ []byte) error {
		if strings.HasPrefix(name, "pods/") {
			isWritten = true
			if left := must.Get(os.ReadDir(directory))(t); len(left) > 0 {
				t.Errorf("temporary files: %v", left)
			}
		}
		return nil
	}
	must.Succeed(t, Collector{Engine: e, Write: write}.Node(t.Context(), container, nil))
	if !isWritten {
		t.Error("no log of a Pod was written")
	}
}

func TestNode(t *testing.T) {
	t.Parallel()
	const podLog = podLogs + "/kube-system_etcd_1/etcd/0.log"
	files := map[string]string{
		record.LogPath: "password=x\n", podLog: "correct horse\n", "/var/log/other": "not of a Pod\n",
	}
	stopped := map[string]string{
		"console.log":                        "systemd says --token [redacted]\n",
		"bootstrap.log":                      "password=[redacted]\n",
		"pods/kube-system_etcd_1/etcd/0.log": "[redacted]\n",
	}
	running := map[string]string{
		"journal.log":    "journalctl --no-pager [redacted]\n",
		"containers.txt": "crictl ps [redacted]\n",
		"images.txt":     "crictl images [redacted]\n",
	}
	for name, content := range stopped {
		running[name] = content
	}
	for name, tc := range map[string]struct {
		reason string
		change func(*simulated.Engine) error
		want   map[string]string
	}{
		"Running": {reason: "All, without secrets.", want: running},
		"Stopped": {
			reason: "What lies in the container is there without a process.",
			change: func(e *simulated.Engine) error { return e.StopContainer(t.Context(), container, 0) },
			want:   stopped,
		},
		"Gone": {
			reason: "Nothing, and no error: Machines outlive their containers.",
			change: func(e *simulated.Engine) error { return e.RemoveContainer(t.Context(), container) },
			want:   map[string]string{},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := newEngine(t, files)
			if tc.change != nil {
				must.Succeed(t, tc.change(e))
			}
			got := collect(t, func(c Collector) error {
				return c.Node(t.Context(), container, []string{"correct horse"})
			}, e)
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// One artifact that fails leaves the others.
func TestNodeWithFailures(t *testing.T) {
	t.Parallel()
	e := newEngine(t, map[string]string{record.LogPath: "log\n"})
	broken := errors.New("broken")
	e.FailNext("Exec", broken)
	var written []string
	err := Collector{Engine: e, Write: func(name string, _ []byte) error {
		written = append(written, name)
		return nil
	}}.Node(t.Context(), container, nil)
	if !errors.Is(err, broken) {
		t.Errorf("Got the error %v, want %v", err, broken)
	}
	want := []string{"container.json", "console.log", "bootstrap.log", "containers.txt", "images.txt"}
	if diff := cmp.Diff(want, written); diff != "" {
		t.Errorf("Artifacts (-want +got):\n%s", diff)
	}
}

func TestLoadBalancer(t *testing.T) {
	t.Parallel()
	e := newEngine(t, map[string]string{haproxy.ConfigPath: "global # correct horse\n"})
	got := collect(t, func(c Collector) error {
		return c.LoadBalancer(t.Context(), container, []string{"correct horse", "systemd"})
	}, e)
	want := map[string]string{"haproxy.cfg": "global # [redacted]\n", "console.log": "[redacted] says --token [redacted]\n"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Artifacts (-want +got):\n%s", diff)
	}
}

// cutOff is an engine whose stream of files breaks.
type cutOff struct{ *simulated.Engine }

func (c cutOff) Download(ctx context.Context, name, path string) (io.ReadCloser, error) {
	stream, err := c.Engine.Download(ctx, name, path)
	if err != nil || path != podLogs {
		return stream, err
	}
	// The header of the directory and the first log with its header, and not the next.
	return struct {
		io.Reader
		io.Closer
	}{io.MultiReader(io.LimitReader(stream, 5*512), iotest.ErrReader(errBroken)), stream}, nil
}

var errBroken = errors.New("connection reset")

// What came before the stream broke is there, and the error says why the rest is not.
func TestPodLogsThatBreakOff(t *testing.T) {
	t.Parallel()
	e := newEngine(t, map[string]string{podLogs + "/a/0.log": "first\n", podLogs + "/b/0.log": "second\n"})
	written := map[string]string{}
	err := Collector{Engine: cutOff{e}, Write: func(name string, content []byte) error {
		written[name] = string(content)
		return nil
	}}.pods(t.Context(), container, nil)
	if !errors.Is(err, errBroken) || errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("Got the error %v, want %v", err, errBroken)
	}
	if diff := cmp.Diff(map[string]string{"pods/a/0.log": "first\n"}, written); diff != "" {
		t.Errorf("Logs (-want +got):\n%s", diff)
	}
}

// The stream is at its end before anything is redacted or written: the engine holds the
// container's lock as long as it sends.
func TestPodLogsAreDownloadedFirst(t *testing.T) {
	t.Parallel()
	e := watched{Engine: newEngine(t, map[string]string{podLogs + "/a/0.log": "first\n", podLogs + "/b/0.log": "second\n"}), open: new(int)}
	var logs int
	err := Collector{Engine: e, Write: func(name string, _ []byte) error {
		if logs++; *e.open != 0 {
			t.Errorf("%s is written while the engine sends", name)
		}
		return nil
	}}.pods(t.Context(), container, nil)
	if err != nil || logs != 2 {
		t.Errorf("%d logs, %v", logs, err)
	}
}

// watched counts the streams that are open.
type watched struct {
	*simulated.Engine

	open *int
}

func (w watched) Download(ctx context.Context, name, path string) (io.ReadCloser, error) {
	stream, err := w.Engine.Download(ctx, name, path)
	*w.open++
	return struct {
		io.Reader
		io.Closer
	}{stream, closing(func() { *w.open-- })}, err
}

type closing func()

func (c closing) Close() error {
	c()
	return nil
}
