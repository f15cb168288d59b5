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
	"path"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// podLogs is where the kubelet has containerd write the logs of Pods; their names
// below it are the artifacts'.
const podLogs = "/var/log/pods"

// pods writes the logs of all Pods of a node, also of one that does not run.
func (c Collector) pods(ctx context.Context, container string, secrets []string) (err error) {
	stream, err := c.Engine.Download(ctx, container, podLogs)
	if errors.Is(err, engine.ErrNotFound) {
		return nil // the kubelet has not started
	}
	if err != nil {
		return fmt.Errorf("download logs of Pods: %w", err)
	}
	defer func() { err = errors.Join(err, stream.Close()) }()
	for archive := tar.NewReader(stream); ; {
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
		if err := c.podLog(name, archive, secrets); err != nil {
			return err
		}
	}
}

// podLog writes a log, or as much of it as the limit allows.
func (c Collector) podLog(name string, from io.Reader, secrets []string) error {
	var content engine.Buffer
	if _, err := io.Copy(&content, from); err != nil && !errors.Is(err, engine.ErrTooLarge) {
		return fmt.Errorf("read %q: %w", name, err)
	}
	return c.text(name, content.Bytes(), secrets)
}
