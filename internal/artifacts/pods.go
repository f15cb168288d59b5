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
	"archive/tar"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/logs"
)

// podLogs is where the kubelet has containerd write the logs of Pods; their names
// below it are the artifacts'.
const podLogs = "/var/log/pods"

// pods writes the logs of all Pods of a node, also of one that does not run. They are on
// the disk first: the engine holds the container's lock until it has sent them, and to
// redact them takes longer.
func (c Collector) pods(ctx context.Context, container string, secrets []string) (err error) {
	spool, err := os.CreateTemp("", "capcon-pods-*.tar")
	if err != nil {
		return fmt.Errorf("create file for logs of Pods: %w", err)
	}
	_ = os.Remove(spool.Name()) // Gone with this process, even if it is killed. Windows refuses; then it is removed below.
	defer func() {
		err = errors.Join(err, spool.Close())
		if removed := os.Remove(spool.Name()); !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}()
	cut := c.download(ctx, container, spool)
	if _, err := spool.Seek(0, io.SeekStart); err != nil {
		return errors.Join(cut, fmt.Errorf("read logs of Pods: %w", err))
	}
	err = c.podLogs(tar.NewReader(spool), secrets)
	if cut != nil && errors.Is(err, io.ErrUnexpectedEOF) {
		return cut // which is why
	}
	return errors.Join(cut, err)
}

// download the logs of Pods, as far as they come. Before the kubelet has started there are none.
func (c Collector) download(ctx context.Context, container string, to io.Writer) (err error) {
	stream, err := c.Engine.Download(ctx, container, podLogs)
	if err == nil {
		_, err = io.Copy(to, stream)
		err = errors.Join(err, stream.Close())
	}
	if err = engine.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("download logs of Pods: %w", err)
	}
	return nil
}

func (c Collector) podLogs(archive *tar.Reader, secrets []string) error {
	for {
		header, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read archive of Pod logs: %w", err)
		}
		name := path.Clean(header.Name)
		// The node's root chose the names.
		if header.Typeflag != tar.TypeReg || !strings.HasPrefix(name, path.Base(podLogs)+"/") {
			continue
		}
		var content logs.Buffer
		_, err = io.Copy(&content, archive)
		if err != nil {
			err = fmt.Errorf("read %q: %w", name, err)
		}
		if err = errors.Join(err, c.text(name, []byte(content.Text()), secrets)); err != nil {
			return err
		}
	}
}
