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

package storage

import (
	"context"
	"fmt"
	"math"
	"path"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/capi-samples/cluster-api-provider-container/controllers/workload/volumebinding"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// checkLimit counts the volumes that exist. With a limit there is one worker: it has saved
// each volume before it begins the next.
func (p *provisioner) checkLimit(ctx context.Context, volume string) error {
	if p.MaxVolumes == math.MaxInt32 {
		return nil
	}
	volumes, err := p.client.CoreV1().PersistentVolumes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list PersistentVolumes: %w", err)
	}
	var count int32
	for i := range volumes.Items {
		if (isNodeLocal(&volumes.Items[i]) || volumebinding.IsShared(&volumes.Items[i])) && volumes.Items[i].Name != volume {
			count++
		}
	}
	if count >= p.MaxVolumes {
		return fmt.Errorf("%w: the cluster may have %d volumes; delete others, or increase spec.limits.persistentVolumes of the ContainerCluster or "+
			"--max-persistent-volumes of its manager", errUnsatisfiable, p.MaxVolumes)
	}
	return nil
}

// isNodeLocal reports whether a volume is one of this provisioner. Annotations can be
// removed; the source of a volume is immutable.
func isNodeLocal(volume *corev1.PersistentVolume) bool {
	return volume.Spec.Local != nil && path.Dir(volume.Spec.Local.Path) == volumesPath
}

// checkSpace compares the request with the free space. It reserves nothing, and a volume
// may grow beyond its request: all nodes share the file system of the engine's host.
func (p *provisioner) checkSpace(ctx context.Context, container, directory string, claim *corev1.PersistentVolumeClaim) error {
	output, err := p.Engine.Exec(ctx, container, engine.Command{Args: []string{"df", "--block-size=1", "--output=avail", directory}})
	if err != nil {
		return fmt.Errorf("run df: %w", err)
	}
	// The first line is the heading.
	_, value, _ := strings.Cut(strings.TrimSpace(string(output.Stdout)), "\n")
	free, err := strconv.ParseInt(strings.TrimSpace(value), 10, 64)
	if err != nil {
		return fmt.Errorf("parse the output of df: %w", err)
	}
	requested := claim.Spec.Resources.Requests[corev1.ResourceStorage]
	if requested.CmpInt64(free) > 0 {
		return fmt.Errorf("%w: requested %s, which is more than the free space on the file system of the engine's host; free space, or request less",
			errUnsatisfiable, requested.String())
	}
	return nil
}
