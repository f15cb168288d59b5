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
)

// WithVolumes adds the PersistentVolumes that are lost with the Machines of the plan: those
// that no other Node can use, and directories of a host that no Node is named for.
func (p Plan) WithVolumes(volumes []corev1.PersistentVolume, nodes []corev1.Node) Plan {
	machines := p.machinesByNode()
	p.Volumes = nil
	for i := range volumes {
		lost := Volume{Name: volumes[i].Name}
		if claim := volumes[i].Spec.ClaimRef; claim != nil {
			lost.Claim = claim.Namespace + "/" + claim.Name
		}
		required := volumes[i].Spec.NodeAffinity
		if required == nil || required.Required == nil {
			if volumes[i].Spec.HostPath != nil || volumes[i].Spec.Local != nil {
				p.Volumes = append(p.Volumes, lost)
			}
			continue
		}
		stays := false
		for j := range nodes {
			switch machine, ends := machines[nodes[j].Name]; {
			case !allows(required.Required, &nodes[j]):
			case ends:
				lost.Machine = machine
			default:
				stays = true
			}
		}
		if lost.Machine != "" && !stays {
			p.Volumes = append(p.Volumes, lost)
		}
	}
	slices.SortFunc(p.Volumes, func(a, b Volume) int { return cmp.Compare(a.Name, b.Name) })
	p.NeedsConsent = p.NeedsConsent || len(p.Volumes) > 0
	return p
}

// WithUnknownVolumes says why the volumes on the Machines of the plan are not known: there
// may be some.
func (p Plan) WithUnknownVolumes(reason string) Plan {
	p.VolumesUnknown, p.NeedsConsent = reason, true
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
