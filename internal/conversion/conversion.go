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

package conversion

import (
	"context"
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/conversion"

	utilconversion "sigs.k8s.io/cluster-api/util/conversion"
)

// Kind converts the objects of one kind between the hub and an older version, the spoke.
type Kind[H, S client.Object] struct {
	hub   H
	spoke S
	// restore copies the fields that the spoke lacks; nil where it lacks none.
	restore func(from, to H)
}

// Converter of the kind, for its webhook.
func (k Kind[H, S]) Converter(scheme *runtime.Scheme) (conversion.Converter, error) {
	return conversion.NewHubSpokeConverter(k.hub, conversion.NewSpokeConverter(k.spoke, k.toSpoke, k.toHub))(scheme)
}

// toSpoke keeps what the spoke lacks in an annotation.
func (k Kind[H, S]) toSpoke(_ context.Context, hub H, spoke S) error {
	if err := copyFields(hub, spoke); err != nil {
		return err
	}
	if k.restore == nil {
		return nil
	}
	if err := utilconversion.MarshalData(hub, spoke); err != nil {
		return fmt.Errorf("store fields in annotation %s: %w", utilconversion.DataAnnotation, err)
	}
	return nil
}

func (k Kind[H, S]) toHub(_ context.Context, spoke S, hub H) error {
	if err := copyFields(spoke, hub); err != nil {
		return err
	}
	if k.restore == nil {
		return nil
	}
	kept, _ := k.hub.DeepCopyObject().(H)
	found, err := utilconversion.UnmarshalData(hub, kept)
	if err != nil {
		return fmt.Errorf("restore fields from annotation %s: %w", utilconversion.DataAnnotation, err)
	}
	if found {
		k.restore(kept, hub)
	}
	return nil
}

// copyFields copies what both have, except for the version.
func copyFields(from, to client.Object) error {
	version := to.GetObjectKind().GroupVersionKind()
	content, err := json.Marshal(from)
	if err == nil {
		err = json.Unmarshal(content, to)
	}
	if err != nil {
		return fmt.Errorf("copy %T to %T: %w", from, to, err)
	}
	to.GetObjectKind().SetGroupVersionKind(version)
	return nil
}
