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

package connect

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/moby/sys/mountinfo"
)

// ErrSocketReplaced: a socket is mounted that the host has removed since, as an engine does
// with its own when it starts. The one that took its place cannot be reached through
// this mount: only a restart of the container mounts it.
var ErrSocketReplaced = errors.New("the mounted socket was replaced on the host; restart the container to mount the new one")

// removed is how Linux marks, in the root of a mount, what was removed from its directory.
const removed = "//deleted"

// CheckSocket returns ErrSocketReplaced, with the path, if a socket that is mounted into this
// container was removed on the host.
func CheckSocket() error {
	mounts, err := mountinfo.GetMounts(nil)
	if err != nil {
		return fmt.Errorf("read mounts: %w", err)
	}
	return replacedSocket(mounts)
}

func replacedSocket(mounts []*mountinfo.Info) error {
	for _, mount := range mounts {
		if !strings.HasSuffix(mount.Root, removed) {
			continue
		}
		if file, err := os.Stat(mount.Mountpoint); err == nil && file.Mode().Type() == os.ModeSocket {
			return fmt.Errorf("%s: %w", mount.Mountpoint, ErrSocketReplaced)
		}
	}
	return nil
}
