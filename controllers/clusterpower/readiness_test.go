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

package clusterpower_test

import (
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestServices: a started cluster is not reported as started while its Services lead to where
// its Pods were before the stop.
func TestServices(t *testing.T) {
	t.Parallel()
	const address, old = "10.244.1.7", "10.244.1.3"
	type situation struct {
		pod   *corev1.Pod
		slice *discoveryv1.EndpointSlice
	}
	running := func(s situation, since time.Time) {
		s.pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Running: &corev1.ContainerStateRunning{StartedAt: metav1.NewTime(since)}}
	}
	waiting := func(s situation, reason string) {
		s.pod.Status.ContainerStatuses[0].State = corev1.ContainerState{Waiting: &corev1.ContainerStateWaiting{Reason: reason}}
		s.pod.Status.Conditions[0].Status = corev1.ConditionFalse
		s.slice.Endpoints[0].Conditions.Ready = ptr.To(false)
	}
	cases := map[string]struct {
		reason string
		change func(s situation, startedAt time.Time)
		waits  bool
	}{
		"current": {"Pod and endpoint are of now.", func(situation, time.Time) {}, false},
		"stale Pod": {"The kubelet has not reported the Pod since.", func(s situation, startedAt time.Time) {
			running(s, startedAt.Add(-time.Hour))
		}, true},
		"creating": {"It is about to run.", func(s situation, _ time.Time) { waiting(s, "ContainerCreating") }, true},
		"not Ready": {"Its probe has not succeeded yet.", func(s situation, _ time.Time) {
			s.pod.Status.Conditions[0].Status = corev1.ConditionFalse
		}, true},
		"fails by itself": {"It may have failed before the stop too.", func(s situation, _ time.Time) { waiting(s, "CrashLoopBackOff") }, false},
		"completed":       {"It does not run again.", func(s situation, _ time.Time) { waiting(s, ""); s.pod.Status.Phase = corev1.PodSucceeded }, false},
		"on another Node": {"That one was not restarted.", func(s situation, startedAt time.Time) {
			running(s, startedAt.Add(-time.Hour))
			s.pod.Spec.NodeName = "other"
		}, false},
		"stale address": {"Clients would reach another Pod.", func(s situation, _ time.Time) { s.slice.Endpoints[0].Addresses = []string{old} }, true},
		"endpoint not ready": {"Clients would reach nothing.", func(s situation, _ time.Time) {
			s.slice.Endpoints[0].Conditions.Ready = ptr.To(false)
		}, true},
		"endpoint of no Pod": {"Clients would reach nothing.", func(s situation, _ time.Time) { s.slice.Endpoints[0].TargetRef.Name = "gone" }, true},
		"endpoint of a user": {"It is no Pod's.", func(s situation, _ time.Time) {
			s.slice.Endpoints[0].TargetRef, s.slice.Endpoints[0].Addresses = nil, []string{old}
		}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, nil)
			w.edit(stopped)
			w.settle()
			w.edit(started)
			w.reconcile()
			startedAt := must.Get(w.engine.InspectContainer(t.Context(), "worker-1"))(t).StartedAt
			s := situation{
				pod: &corev1.Pod{
					ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"}, Spec: corev1.PodSpec{NodeName: w.node.Name},
					Status: corev1.PodStatus{
						Phase: corev1.PodRunning, PodIPs: []corev1.PodIP{{IP: address}}, ContainerStatuses: make([]corev1.ContainerStatus, 1),
						Conditions: []corev1.PodCondition{{Type: corev1.PodReady, Status: corev1.ConditionTrue}},
					},
				},
				slice: &discoveryv1.EndpointSlice{
					ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "web"},
					Endpoints: []discoveryv1.Endpoint{{
						Addresses: []string{address}, Conditions: discoveryv1.EndpointConditions{Ready: ptr.To(true)},
						TargetRef: &corev1.ObjectReference{Kind: "Pod", Namespace: "default", Name: "web"},
					}},
				},
			}
			running(s, startedAt)
			c.change(s, startedAt)
			w.others, w.base = []client.Object{s.pod, s.slice}, nil
			w.clock.Step(time.Second)
			w.reconcile()
			reason, message := w.condition()
			if waits := reason == infrav1.StartingReason; waits != c.waits {
				t.Errorf("%s\nwaits: %t (%s: %s)", c.reason, waits, reason, message)
			}
			w.settle()
			w.expectEnd(end{state{5, false, false}, infrav1.StartedReason})
		})
	}
}
