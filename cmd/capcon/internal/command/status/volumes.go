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

package status

import (
	"context"
	"fmt"
	"strings"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/update"
)

// volumesTimeout bounds how long status waits for the API server of a cluster.
const volumesTimeout = 3 * time.Second

// volumeTroubles are the claims whose data was on a Node that was deleted. A cluster that does not
// answer soon is skipped: its conditions say what is wrong with it.
func volumeTroubles(ctx context.Context, s *session.Session, cluster *clusterv1.Cluster) []management.Trouble {
	if cluster.Namespace != management.Namespace {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, volumesTimeout)
	defer cancel()
	volumes, nodes, err := s.Volumes(ctx, cluster.Name)
	if err != nil {
		return nil
	}
	var troubles []management.Trouble
	for _, lost := range update.WithoutNode(volumes, nodes) {
		claimNamespace, claim, _ := strings.Cut(lost.Claim, "/")
		troubles = append(troubles, management.Trouble{
			Object: "PersistentVolumeClaim " + lost.Claim, Reason: "VolumeNodeDeleted",
			Message: fmt.Sprintf("the node with its PersistentVolume %s was deleted, and the data with it; Pods of the claim stay pending", lost.Name),
			Remedy: fmt.Sprintf("delete the claim, then its Pods, and create the claim again if its workload does not: "+
				"kubectl --namespace %s delete persistentvolumeclaim %s", claimNamespace, claim),
		})
	}
	return troubles
}
