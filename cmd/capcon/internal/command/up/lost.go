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

package up

import (
	"context"
	"fmt"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
)

// checkForgotten refuses to create a cluster while there are containers of an earlier one of
// that name without objects: its record would be lost with them.
func (r *run) checkForgotten(ctx context.Context, name string, present management.Present) error {
	if present.Exists || present.OwnerID != "" {
		return nil
	}
	record, _ := r.session.Records.Get(name)
	on := r.session
	if record.EngineName != "" {
		var err error
		if on, err = r.session.Of(ctx, name); err != nil {
			return err
		}
	}
	containers, err := on.Records.ContainersOfOwner(ctx, name, record.OwnerID)
	switch {
	case err != nil:
		return err
	case len(containers) == 0 && on != r.session:
		return nil
	case len(containers) == 0:
		return r.session.Records.CheckStorage(name, record)
	}
	reason, err := r.session.KeptBecause(ctx, record)
	if err != nil {
		return err
	}
	down, because := fmt.Sprintf("%s down %s", r.session.Program, name), ""
	if reason != "" {
		down, because = down+" --force", "; "+reason
	}
	return fmt.Errorf("cluster %[1]q has %[2]s (owner ID %[3]s), but no objects in the management plane%[4]s\n"+
		"  to delete the containers: %[5]s\n"+
		"  to keep the cluster, restore its objects from a backup (docs/how-to/restore.md):\n"+
		"    %[6]s plane up\n"+
		"    %[6]s kubeconfig --management > management.kubeconfig\n"+
		"    clusterctl move --to-kubeconfig management.kubeconfig --from-directory BACKUP\n"+
		"  if another management cluster has it, and a new cluster of that name is wanted here: %[6]s forget %[1]s",
		name, output.Plural(len(containers), "container"), record.OwnerID, because, down, r.session.Program)
}
