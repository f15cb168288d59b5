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

package update

import (
	"cmp"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"

	"github.com/capi-samples/cluster-api-provider-container/internal/clustervolume"
)

// WithVolumes chooses the Machines that are deleted, those without PersistentVolumes first, and
// adds the PersistentVolumes that are lost with the Machines of the plan: those that no other Node
// can use, and directories of a host that no Node is named for.
func (p Plan) WithVolumes(volumes []corev1.PersistentVolume, nodes []corev1.Node) Plan {
	p = p.chooseDeleted(func(machine Machine) bool {
		return slices.ContainsFunc(volumes, func(volume corev1.PersistentVolume) bool {
			on, isLost := lostWith(&volume, map[string]string{machine.Node: machine.Name}, nodes)
			return isLost && on != ""
		})
	})
	machines := p.machinesByNode()
	p.Volumes = nil
	for i := range volumes {
		machine, isLost := lostWith(&volumes[i], machines, nodes)
		if !isLost {
			continue
		}
		lost := Volume{Name: volumes[i].Name, Machine: machine}
		if claim := volumes[i].Spec.ClaimRef; claim != nil {
			lost.Claim = claim.Namespace + "/" + claim.Name
		}
		p.Volumes = append(p.Volumes, lost)
	}
	slices.SortFunc(p.Volumes, func(a, b Volume) int { return cmp.Compare(a.Name, b.Name) })
	p.NeedsConsent = p.NeedsConsent || len(p.Volumes) > 0
	return p
}

// lostWith reports whether a volume is lost with Machines, by the names of their Nodes, and
// names the one that has it, where that is known.
func lostWith(volume *corev1.PersistentVolume, machines map[string]string, nodes []corev1.Node) (machine string, isLost bool) {
	if isOfCluster(volume) {
		return "", false // its data outlives all Nodes
	}
	required := volume.Spec.NodeAffinity
	if required == nil || required.Required == nil {
		return "", volume.Spec.HostPath != nil || volume.Spec.Local != nil
	}
	for i := range nodes {
		if !allows(required.Required, &nodes[i]) {
			continue
		}
		ending, ends := machines[nodes[i].Name]
		if !ends {
			return "", false // another Node can use it
		}
		machine = ending
	}
	return machine, machine != ""
}

// WithoutNode returns the volumes with a claim that were on the disk of a Node that does not exist: their data is lost,
// and Pods of the claim stay pending.
func WithoutNode(volumes []corev1.PersistentVolume, nodes []corev1.Node) []Volume {
	var lost []Volume
	for i := range volumes {
		spec := &volumes[i].Spec
		if isOfCluster(&volumes[i]) || spec.Local == nil || spec.ClaimRef == nil || spec.NodeAffinity == nil || spec.NodeAffinity.Required == nil ||
			volumes[i].Status.Phase == corev1.VolumeReleased ||
			slices.ContainsFunc(nodes, func(node corev1.Node) bool { return allows(spec.NodeAffinity.Required, &node) }) {
			continue
		}
		lost = append(lost, Volume{Name: volumes[i].Name, Claim: spec.ClaimRef.Namespace + "/" + spec.ClaimRef.Name})
	}
	return lost
}

// isOfCluster reports whether a volume is a directory of the engine's volume that all nodes of the cluster mount.
func isOfCluster(volume *corev1.PersistentVolume) bool {
	return volume.Spec.Local != nil && clustervolume.IsPath(volume.Spec.Local.Path, volume.Name)
}

// WithUnknownVolumes says why the volumes on the Machines of the plan are not known: there
// may be some.
func (p Plan) WithUnknownVolumes(reason string) Plan {
	p.VolumesUnknown, p.NeedsConsent = reason, true
	return p.chooseDeleted(func(Machine) bool { return false })
}

// chooseDeleted completes each Deletion with its candidates, those with volumes last.
func (p Plan) chooseDeleted(hasVolumes func(Machine) bool) Plan {
	p.Deleted = slices.Clone(p.Deleted)
	for i := range p.Deleted {
		deletion := &p.Deleted[i]
		var empty, full []Machine
		for _, machine := range deletion.candidates {
			if hasVolumes(machine) {
				full = append(full, machine)
			} else {
				empty = append(empty, machine)
			}
		}
		if missing := deletion.Count - len(deletion.Machines); missing > 0 {
			deletion.Machines = slices.Concat(deletion.Machines, slices.Concat(empty, full)[:missing])
		}
		deletion.candidates = nil
		slices.SortFunc(deletion.Machines, func(a, b Machine) int { return cmp.Compare(a.Name, b.Name) })
	}
	return p
}

// allows reports whether a volume can be used on a node. A term that cannot be read may
// allow it.
func allows(selector *corev1.NodeSelector, node *corev1.Node) bool {
	return slices.ContainsFunc(selector.NodeSelectorTerms, func(term corev1.NodeSelectorTerm) bool {
		return matches(term.MatchExpressions, node.Labels) && matches(term.MatchFields, labels.Set{"metadata.name": node.Name})
	})
}

func matches(requirements []corev1.NodeSelectorRequirement, of labels.Set) bool {
	operators := map[corev1.NodeSelectorOperator]selection.Operator{
		corev1.NodeSelectorOpIn: selection.In, corev1.NodeSelectorOpNotIn: selection.NotIn,
		corev1.NodeSelectorOpExists: selection.Exists, corev1.NodeSelectorOpDoesNotExist: selection.DoesNotExist,
		corev1.NodeSelectorOpGt: selection.GreaterThan, corev1.NodeSelectorOpLt: selection.LessThan,
	}
	for _, required := range requirements {
		requirement, err := labels.NewRequirement(strings.TrimSpace(required.Key), operators[required.Operator], required.Values)
		if err == nil && !requirement.Matches(of) {
			return false
		}
	}
	return true
}
