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
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// node is a directory that stands for a node's root file system. The script runs in it as it would in a node.
type node struct {
	t    *testing.T
	root string
	// journal is what the unit printed at its last boot.
	journal string
}

// newNode uploads an archive into a fresh node.
func newNode(t *testing.T, in Input) *node {
	t.Helper()
	n := &node{t: t, root: t.TempDir()}
	n.upload(in)
	return n
}

func (n *node) upload(in Input) {
	n.t.Helper()
	reader := tar.NewReader(bytes.NewReader(must.Get(Archive(in))(n.t)))
	for {
		header, err := reader.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		must.Succeed(n.t, err)
		n.extract(header, reader)
	}
}

func (n *node) extract(header *tar.Header, content io.Reader) {
	n.t.Helper()
	target := filepath.Join(n.root, header.Name)
	err := os.MkdirAll(filepath.Dir(target), 0o755)
	switch header.Typeflag {
	case tar.TypeDir:
		err = errors.Join(err, os.MkdirAll(target, header.FileInfo().Mode()))
	case tar.TypeSymlink:
		err = errors.Join(err, os.Symlink(header.Linkname, target))
	default:
		data, readErr := io.ReadAll(content)
		err = errors.Join(err, readErr, os.WriteFile(target, data, header.FileInfo().Mode()))
	}
	if err != nil {
		n.t.Fatalf("extract %s: %v", header.Name, err)
	}
}

// path returns where a path of the node is.
func (n *node) path(name string) string {
	return filepath.Join(n.root, name)
}

func (n *node) write(name, content string) {
	n.t.Helper()
	must.Succeed(n.t, os.MkdirAll(filepath.Dir(n.path(name)), 0o755))
	must.Succeed(n.t, os.WriteFile(n.path(name), []byte(content), 0o644))
}

func (n *node) read(name string) string {
	n.t.Helper()
	return string(must.Get(os.ReadFile(n.path(name)))(n.t))
}

// readOptional returns what is in a file that may be missing.
func (n *node) readOptional(name string) string {
	content, _ := os.ReadFile(n.path(name))
	return string(content)
}

func (n *node) exists(name string) bool {
	_, err := os.Lstat(n.path(name))
	return err == nil
}

// stub puts programs in front of the node's PATH. Each appends its arguments and its input to /calls.
func (n *node) stub(programs map[string]string) {
	n.t.Helper()
	for name, body := range programs {
		n.write("stubs/"+name, "#!/bin/sh\n"+body+"\n")
		must.Succeed(n.t, os.Chmod(n.path("stubs/"+name), 0o755))
	}
}

func (n *node) command() *exec.Cmd {
	// Only root can give files away; what a node's chown is asked for is tested where we are root.
	if os.Geteuid() != 0 {
		n.stub(map[string]string{"chown": "exit 0"})
	}
	cmd := exec.CommandContext(n.t.Context(), "/bin/sh", n.path(Directory+"/bootstrap"))
	cmd.Dir = n.root
	cmd.Env = append(os.Environ(), "CLUSTER_API_BOOTSTRAP_ROOT="+n.root, "ROOT="+n.root,
		"PATH="+n.path("stubs")+":"+os.Getenv("PATH"))
	// The copy for the journal may hold the pipe a little longer than the script lives.
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// boot runs what the unit runs, under the unit's condition, and returns its exit code.
func (n *node) boot() int {
	n.t.Helper()
	if !n.exists(Directory + "/bootstrap") {
		return 0
	}
	cmd := n.command()
	out, err := cmd.CombinedOutput()
	n.journal = string(out)
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		n.t.Fatalf("run bootstrap: %v", err)
	}
	return cmd.ProcessState.ExitCode()
}

// bootDone is a boot that must succeed.
func (n *node) bootDone() {
	n.t.Helper()
	if code := n.boot(); code != 0 {
		n.t.Fatalf("exit code %d:\n%s", code, n.journal)
	}
}

// download returns the record as an engine gives it: files in the order of their names.
func (n *node) download() []byte {
	n.t.Helper()
	var buffer bytes.Buffer
	writer := tar.NewWriter(&buffer)
	must.Succeed(n.t, errors.Join(writer.AddFS(os.DirFS(n.path(record.Path))), writer.Close()))
	return buffer.Bytes()
}

func (n *node) result() record.Result {
	n.t.Helper()
	return must.Get(record.Read(bytes.NewReader(n.download())))(n.t)
}

// expectCleanedUp checks that nothing of the user's data is left.
func (n *node) expectCleanedUp() {
	n.t.Helper()
	if n.exists(Directory) {
		n.t.Errorf("%s is still there: secrets must be removed once used", Directory)
	}
}

func shellCommands(commands ...string) []userdata.Command {
	var out []userdata.Command
	for _, command := range commands {
		out = append(out, userdata.Command{Shell: command})
	}
	return out
}

func unlines(s ...string) string {
	return strings.Join(s, "\n") + "\n"
}
