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

package plane

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Moves is the record that a management plane keeps of the clusters that clusterctl moved
// away from it. Their objects are gone then, as those of lost clusters are, while another
// management cluster has their containers.
//
// The record is a ConfigMap in the plane. Where there is one, each move is in it:
// a webhook writes it before the API server stores the mark without which no object
// leaves its containers behind. An entry is never removed: a cluster that was moved back
// has its objects, which count more.
type Moves struct {
	// Recorded says that the plane records them.
	Recorded bool
	// clusters by owner ID, "namespace/name".
	clusters map[string]string
}

// Has reports whether the cluster of an owner ID was moved away.
func (m Moves) Has(ownerID string) bool {
	_, moved := m.clusters[ownerID]
	return moved
}

// BeginMoves makes sure that there is a record.
func BeginMoves(ctx context.Context, c client.Client) error {
	if err := c.Create(ctx, movesRecord()); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create the record of moved clusters: %w", err)
	}
	return nil
}

// AddMove of a cluster, "namespace/name", that is about to be moved away.
func AddMove(ctx context.Context, c client.Client, ownerID, cluster string) error {
	if err := BeginMoves(ctx, c); err != nil {
		return err
	}
	moved := movesRecord()
	moved.Data = map[string]string{ownerID: cluster}
	if err := c.Patch(ctx, moved, client.MergeFrom(movesRecord())); err != nil {
		return fmt.Errorf("record that cluster %s is moved: %w", cluster, err)
	}
	return nil
}

// ReadMoves of a plane.
func ReadMoves(ctx context.Context, c client.Reader) (Moves, error) {
	record := movesRecord()
	err := c.Get(ctx, client.ObjectKeyFromObject(record), record)
	if apierrors.IsNotFound(err) {
		return Moves{}, nil
	}
	if err != nil {
		return Moves{}, fmt.Errorf("read the record of moved clusters: %w", err)
	}
	return Moves{Recorded: true, clusters: record.Data}, nil
}

func movesRecord() *corev1.ConfigMap {
	return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: metav1.NamespaceSystem, Name: "capcon-moved-clusters"}}
}
