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

package volumebinding

import (
	"cmp"
	"context"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"

	"github.com/capi-samples/cluster-api-provider-container/internal/clustervolume"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// use of a PersistentVolume, with the Pods.
type use struct {
	clustervolume.Use
	pods []placed
}

// placed is a Pod with the container of its node.
type placed struct {
	*corev1.Pod
	container string
}

func plain(uses []use) []clustervolume.Use {
	all := make([]clustervolume.Use, 0, len(uses))
	for _, use := range uses {
		all = append(all, use.Use)
	}
	return all
}

// uses of PersistentVolumes by Pods that are on a node and have not ended, sorted by name.
func (b *binder) uses(volumes []*corev1.PersistentVolume) ([]use, error) {
	if len(volumes) == 0 {
		return nil, nil
	}
	pods, err := b.pods.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("list Pods: %w", err)
	}
	containers, err := b.containers()
	if err != nil {
		return nil, err
	}
	users := usersOf(pods, containers)
	var uses []use
	for _, volume := range volumes {
		ref := volume.Spec.ClaimRef
		if ref == nil {
			continue
		}
		claim, err := b.claims.PersistentVolumeClaims(ref.Namespace).Get(ref.Name)
		if err != nil || claim.UID != ref.UID || claim.Spec.VolumeName != volume.Name {
			continue // Only a claim that is bound to it uses it.
		}
		if found := users[ref.Namespace+"/"+ref.Name]; len(found) > 0 {
			uses = append(uses, useOf(volume, found))
		}
	}
	slices.SortFunc(uses, func(a, b use) int { return cmp.Compare(a.Volume, b.Volume) })
	return uses, nil
}

// usersOf claims, by their names: the Pods that are on a node and have not ended.
func usersOf(pods []*corev1.Pod, containers map[string]string) map[string][]placed {
	users := map[string][]placed{}
	for _, pod := range pods {
		container := containers[pod.Spec.NodeName]
		if container == "" || pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed {
			continue
		}
		for _, claim := range claimNames(pod) {
			users[pod.Namespace+"/"+claim] = append(users[pod.Namespace+"/"+claim], placed{pod, container})
		}
	}
	return users
}

// useOf a PersistentVolume: the first Pod gets it first, and those that are being deleted last.
func useOf(volume *corev1.PersistentVolume, pods []placed) use {
	isDeleted := func(pod placed) int { return map[bool]int{true: 1}[!pod.DeletionTimestamp.IsZero()] }
	slices.SortFunc(pods, func(a, b placed) int {
		return cmp.Or(cmp.Compare(isDeleted(a), isDeleted(b)), a.CreationTimestamp.Compare(b.CreationTimestamp.Time), cmp.Compare(a.Name, b.Name))
	})
	found := use{Use: clustervolume.Use{
		Volume: volume.Name,
		Shared: slices.ContainsFunc(volume.Spec.AccessModes, func(mode corev1.PersistentVolumeAccessMode) bool {
			return mode == corev1.ReadWriteMany || mode == corev1.ReadOnlyMany
		}),
	}, pods: pods}
	for _, pod := range pods {
		if !slices.Contains(found.Containers, pod.container) {
			found.Containers = append(found.Containers, pod.container)
		}
	}
	return found
}

// containers of the Nodes. Whether the cluster owns them is known when they are observed.
func (b *binder) containers() (map[string]string, error) {
	nodes, err := b.nodes.List(labels.Everything())
	if err != nil {
		return nil, fmt.Errorf("list Nodes: %w", err)
	}
	containers := map[string]string{}
	for _, node := range nodes {
		if container, err := identity.ParseProviderID(node.Spec.ProviderID); err == nil {
			containers[node.Name] = container
		}
	}
	return containers, nil
}

// claimNames of a Pod. Those of ephemeral volumes have the name of Pod and volume.
func claimNames(pod *corev1.Pod) []string {
	var names []string
	for i := range pod.Spec.Volumes {
		switch volume := &pod.Spec.Volumes[i]; {
		case volume.PersistentVolumeClaim != nil:
			names = append(names, volume.PersistentVolumeClaim.ClaimName)
		case volume.Ephemeral != nil:
			names = append(names, pod.Name+"-"+volume.Name)
		}
	}
	return names
}

func claimsOnly(volumes []corev1.Volume) []corev1.Volume {
	return slices.DeleteFunc(slices.Clone(volumes), func(v corev1.Volume) bool { return v.PersistentVolumeClaim == nil && v.Ephemeral == nil })
}

func strippedMeta(pod *corev1.Pod) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID, ResourceVersion: pod.ResourceVersion,
		CreationTimestamp: pod.CreationTimestamp, DeletionTimestamp: pod.DeletionTimestamp,
	}
}

// component of Events.
const component = "container.infrastructure.cluster.x-k8s.io"

// report to the Pods that wait why they do, with one Event each.
func (b *binder) report(ctx context.Context, state clustervolume.State, uses []use, blocked []clustervolume.Decision) error {
	for _, decision := range blocked {
		i := slices.IndexFunc(uses, func(u use) bool { return u.Volume == decision.Volume })
		for _, pod := range uses[i].pods {
			if decision.Holder == pod.container || state.Nodes[pod.container].Mounts.Bound[decision.Volume] && len(decision.Bind) == 0 {
				continue // It does not wait.
			}
			if err := b.recordWait(ctx, pod, decision); err != nil {
				return err
			}
		}
	}
	return b.reportOthers(ctx, state, uses, blocked)
}

// reportOthers to Pods whose PersistentVolume is bound into the node of another Pod.
func (b *binder) reportOthers(ctx context.Context, state clustervolume.State, uses []use, blocked []clustervolume.Decision) error {
	for _, use := range uses {
		if use.Shared || slices.ContainsFunc(blocked, func(d clustervolume.Decision) bool { return d.Volume == use.Volume }) {
			continue
		}
		owner := state.Decide(use.Use).Through
		for _, pod := range use.pods {
			if pod.container == owner || !pod.DeletionTimestamp.IsZero() {
				continue
			}
			if err := b.recordWait(ctx, pod, clustervolume.Decision{Volume: use.Volume, Holder: owner, Blocked: "has it for another Pod"}); err != nil {
				return err
			}
		}
	}
	return nil
}

func (b *binder) recordWait(ctx context.Context, pod placed, decision clustervolume.Decision) error {
	text := decision.Blocked
	if decision.Holder != "" {
		text = fmt.Sprintf("node container %s %s. It is bound here once that node does not have it mounted: "+
			"when its Pod has ended there, or its Machine is deleted", decision.Holder, text)
	}
	return b.record(ctx, pod.Pod, fmt.Sprintf("Waiting for PersistentVolume %s: %s", decision.Volume, text))
}

func (b *binder) record(ctx context.Context, pod *corev1.Pod, message string) error {
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(string(pod.UID) + message))
	const longest = 230 // with the hash, the limit of a name
	prefix := strings.TrimRight(pod.Name[:min(len(pod.Name), longest)], ".-")
	now := metav1.NewTime(b.clock.Now())
	_, err := b.client.CoreV1().Events(pod.Namespace).Create(ctx, &corev1.Event{
		ObjectMeta:     metav1.ObjectMeta{Namespace: pod.Namespace, Name: fmt.Sprintf("%s.%016x", prefix, hash.Sum64())},
		InvolvedObject: corev1.ObjectReference{APIVersion: "v1", Kind: "Pod", Namespace: pod.Namespace, Name: pod.Name, UID: pod.UID},
		Type:           corev1.EventTypeWarning, Reason: "PersistentVolumeNotBound", Message: message,
		Source:         corev1.EventSource{Component: component},
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}, metav1.CreateOptions{})
	if err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create Event of Pod %s/%s: %w", pod.Namespace, pod.Name, err)
	}
	return nil
}
