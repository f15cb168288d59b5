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
	containers, err := r.session.Records.ContainersOfOwner(ctx, name, record.OwnerID)
	if err != nil {
		return err
	}
	if len(containers) == 0 {
		return r.session.Records.CheckStorage(name, record)
	}
	reason, err := r.session.KeptBecause(ctx, record)
	if err != nil {
		return err
	}
	return &forgottenError{name: name, program: r.session.Program, ownerID: record.OwnerID, reason: reason, containers: len(containers)}
}

// forgottenError: containers of an earlier cluster of that name have no objects.
type forgottenError struct {
	name, program, ownerID string
	// reason not to delete the containers; empty = none.
	reason     string
	containers int
}

// Error implements error.
func (e *forgottenError) Error() string {
	down := fmt.Sprintf("%s down %s", e.program, e.name)
	reason := ""
	if e.reason != "" {
		down += " --force"
		reason = "; " + e.reason
	}
	return fmt.Sprintf("cluster %q has %s (owner ID %s), but no objects in the management plane%s\n"+
		"  to delete the containers: %s\n"+
		"  to keep the cluster, restore its objects from a backup (docs/how-to/restore.md):\n"+
		"    %s plane up\n"+
		"    %s kubeconfig --management > management.kubeconfig\n"+
		"    clusterctl move --to-kubeconfig management.kubeconfig --from-directory BACKUP\n"+
		"  if another management cluster has it, and a new cluster of that name is wanted here: %s forget %s",
		e.name, output.Plural(e.containers, "container"), e.ownerID, reason, down, e.program, e.program, e.program, e.name)
}
