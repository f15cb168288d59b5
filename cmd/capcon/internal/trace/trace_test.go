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

package trace

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// second of a trace.
func second(n float64) time.Time {
	return time.Date(2026, 11, 25, 12, 0, 0, 0, time.UTC).Add(time.Duration(n * float64(time.Second)))
}

// machine with a Ready condition, and a token that must not get into a trace.
func machine(ready, reason, token string) *unstructured.Unstructured {
	return &unstructured.Unstructured{Object: map[string]any{
		"kind":     "Machine",
		"metadata": map[string]any{"name": "m", "resourceVersion": token},
		"spec":     map[string]any{"token": token},
		"status":   map[string]any{"conditions": []any{map[string]any{"type": "Ready", "status": ready, "reason": reason}}},
	}}
}

func TestObjects(t *testing.T) {
	t.Parallel()
	var recorder Recorder
	objects := NewObjects(&recorder, "Plane")
	objects.Observe(second(0), listed, &unstructured.Unstructured{Object: map[string]any{"kind": "Cluster", "metadata": map[string]any{"name": "c"}}})
	objects.Observe(second(1), watch.Added, machine("False", "Waiting", "secret-1"))
	objects.Observe(second(2), watch.Modified, machine("False", "Waiting", "secret-2"))
	objects.Observe(second(3), watch.Modified, machine("True", "Ready", "secret-2"))
	same := machine("True", "Ready", "secret-2")
	same.SetResourceVersion("another")
	objects.Observe(second(4), watch.Modified, same)
	objects.End(second(5))
	want := []Event{
		{Group: "Plane", Track: "Cluster c", Name: "exists", Start: second(0), Details: map[string]string{}},
		{Group: "Plane", Track: "Machine m", Name: "created", Start: second(1), Details: map[string]string{}},
		{Group: "Plane", Track: "Machine m", Name: "Ready=False (Waiting)", Start: second(1), End: second(3)},
		{Group: "Plane", Track: "Machine m", Name: "spec.token", Start: second(2), Details: map[string]string{"changed": "spec.token"}},
		{Group: "Plane", Track: "Machine m", Name: "Ready=True", Start: second(3), Details: map[string]string{"changed": "status.conditions[Ready]"}},
		{Group: "Plane", Track: "Machine m", Name: "Ready=True", Start: second(3), End: second(5)},
	}
	if diff := cmp.Diff(want, recorder.Between(second(0), second(9))); diff != "" {
		t.Errorf("events (-want +got):\n%s", diff)
	}
}

func TestEngineCalls(t *testing.T) {
	t.Parallel()
	call := func(cluster, object, rest string) string {
		return `manager | I1125 12:00:01.500000      36 options.go:107] "Called the container engine" logger="engine" ` + object +
			` Cluster="default/` + cluster + `" method="StartContainer" container="0a1b" ` + rest + "\n"
	}
	log := call("other", `ContainerMachine="default/x"`, `duration="1s"`) + "another line\n" +
		call("demo", `ContainerMachine="default/m"`, `duration="500ms"`) +
		call("demo", `ContainerCluster="default/demo"`, `duration="1.5s" error="no such \"image\""`)
	var got []Event
	for _, event := range EngineCalls(log, "demo", second(9)) {
		event.Details = nil
		got = append(got, event)
	}
	want := []Event{
		{Group: EngineGroup, Track: "ContainerMachine m", Name: "StartContainer", Start: second(1), End: second(1.5)},
		{Group: EngineGroup, Track: "ContainerCluster demo", Name: "StartContainer", Start: second(0), End: second(1.5)},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("calls (-want +got):\n%s", diff)
	}
}

func TestSteps(t *testing.T) {
	t.Parallel()
	line := func(at float64, identifier, message string) string {
		entry := must.Get(json.Marshal(map[string]any{
			"__REALTIME_TIMESTAMP": json.Number(must.Get(json.Marshal(second(at).UnixMicro()))(t)).String(),
			"SYSLOG_IDENTIFIER":    identifier, "MESSAGE": message,
		}))(t)
		return string(entry) + "\n"
	}
	journal := line(1, "systemd", "Started kubelet.service.") +
		line(2, bootstrapIdentifier, "bootstrap: runcmd[0]") +
		line(3, bootstrapIdentifier, `[certs] Generating "ca" certificate and key`) +
		line(4, bootstrapIdentifier, `[certs] Generating "etcd/ca" certificate and key`) +
		line(5, bootstrapIdentifier, "kubeadm join --token abcdef.0123456789abcdef") +
		line(6, "systemd", "Reloading.") +
		`{"__REALTIME_TIMESTAMP":"7","SYSLOG_IDENTIFIER":"systemd","MESSAGE":[83,116]}` + "\ncut o"
	want := []Event{
		{Group: "Node m", Track: systemdTrack, Name: "Started kubelet.service.", Start: second(1).Local()},
		{Group: "Node m", Track: BootstrapTrack, Name: "runcmd[0]", Start: second(2).Local(), End: second(3).Local()},
		{Group: "Node m", Track: BootstrapTrack, Name: "certs", Start: second(3).Local(), End: second(5).Local()},
	}
	if diff := cmp.Diff(want, stepsOf(journal, "Node m")); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestWaits(t *testing.T) {
	t.Parallel()
	change := func(at float64, track, fields string) Event {
		return Event{Group: ObjectsGroup, Track: track, Name: "changed", Start: second(at), Details: map[string]string{"changed": fields}}
	}
	events := []Event{
		{Group: ObjectsGroup, Track: "Cluster c", Name: "created", Start: second(1)},
		{Group: ObjectsGroup, Track: "ContainerCluster c", Name: "created", Start: second(1)},
		change(2, "ContainerCluster c", "metadata.labels.a\nmetadata.ownerReferences[0].uid"),
		{Group: EngineGroup, Track: "ContainerCluster c", Name: "StartContainer", Start: second(2.5), End: second(3)},
		change(4, "ContainerCluster c", "status.initialization.provisioned"),
		change(5, "Machine m", "spec.bootstrap.dataSecretName"),
		change(6, "ContainerMachine m", "status.initialization.provisioned"),
		change(7, "ContainerCluster c", "metadata.ownerReferences[1].uid"),
		{Group: NodesGroup, Track: "Node m", Name: "Ready=False (KubeletNotReady)", Start: second(7), End: second(8)},
		{Group: NodesGroup, Track: "Node m", Name: "Ready=True", Start: second(8), End: second(12)},
		change(10, "ContainerMachine m", "metadata.deletionTimestamp"),
		{Group: ObjectsGroup, Track: "ContainerMachine m", Name: "deleted", Start: second(10.5)},
		{Group: ObjectsGroup, Track: "Cluster c", Name: "deleted", Start: second(11)},
	}
	waits := Waits(events, second(0), second(12))
	at := second(0)
	for _, wait := range waits {
		if !wait.Start.Equal(at) {
			t.Errorf("%s starts at %s, want %s: each moment counts once", wait.Track, wait.Start, at)
		}
		at = wait.End
	}
	want := map[string]time.Duration{
		waitEngine:     500 * time.Millisecond,
		waitProvider:   3 * time.Second,
		waitNodes:      2 * time.Second,
		waitClusterAPI: 4500 * time.Millisecond,
		waitCommand:    2 * time.Second,
	}
	for component, total := range want {
		if got := totalWait(waits, component); got != total {
			t.Errorf("the command waited %s for %s, want %s", got, component, total)
		}
	}
	if got := Waits(nil, second(0), second(1)); len(got) != 1 || got[0].Name != waitCommand {
		t.Errorf("without events the command waited for %v, want itself", got)
	}
}

func TestWriteJSON(t *testing.T) {
	t.Parallel()
	var recorder Recorder
	recorder.Add(
		Event{Group: "A", Track: "one", Name: "<span>", Start: second(1), End: second(3), Details: map[string]string{"by": "x"}},
		Event{Group: "B", Track: "two", Name: "mark", Start: second(2)},
		Event{Group: "B", Track: "two", Name: "before", Start: second(-2)},
		Event{Group: "A", Track: "one", Name: "cut off", Start: second(-1), End: second(9)},
	)
	events := recorder.Between(second(0), second(5))

	var written bytes.Buffer
	must.Succeed(t, WriteJSON(&written, events))
	var got struct{ TraceEvents []entry }
	must.Succeed(t, json.Unmarshal(written.Bytes(), &got))
	want := []entry{
		{Name: "process_name", Phase: "M", Process: 1, Args: map[string]string{"name": "A"}},
		{Name: "thread_name", Phase: "M", Process: 1, Thread: 1, Args: map[string]string{"name": "one"}},
		{Name: "cut off", Phase: "X", Duration: 5e6, Process: 1, Thread: 1},
		{Name: "<span>", Phase: "X", Time: 1e6, Duration: 2e6, Process: 1, Thread: 1, Args: map[string]string{"by": "x"}},
		{Name: "process_name", Phase: "M", Process: 2, Args: map[string]string{"name": "B"}},
		{Name: "thread_name", Phase: "M", Process: 2, Thread: 2, Args: map[string]string{"name": "two"}},
		{Name: "mark", Phase: "i", Scope: "t", Time: 2e6, Process: 2, Thread: 2},
	}
	if diff := cmp.Diff(want, got.TraceEvents); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}

	written.Reset()
	must.Succeed(t, WriteJSON(&written, nil))
	if got := written.String(); !strings.Contains(got, `"traceEvents":[]`) {
		t.Errorf("a trace without events is %s", got)
	}
}

func TestWatch(t *testing.T) {
	t.Parallel()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "s"}, StringData: map[string]string{"token": "secret"}}
	c := fake.NewClientBuilder().WithObjects(secret).WithInterceptorFuncs(interceptor.Funcs{
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			defer list.SetResourceVersion("1") // An API server sets one, this client does not.
			return c.List(ctx, list, options...)
		},
		Watch: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) (watch.Interface, error) {
			watcher, err := c.Watch(ctx, list, options...)
			must.Succeed(t, c.Delete(ctx, secret))
			return watcher, err
		},
	}).Build()
	ctx, cancel := context.WithCancel(t.Context())
	var recorder Recorder
	watching := make(chan error)
	secrets := Selection{Kind: corev1.SchemeGroupVersion.WithKind("Secret"), MetadataOnly: true}
	go func() { watching <- Watch(ctx, &recorder, "Plane", c, secrets) }()
	must.Eventually(t, 10*time.Second, "both changes are recorded", func(context.Context) error {
		var names []string
		for _, event := range recorder.Between(time.Time{}, time.Now()) {
			names = append(names, event.Track+" "+event.Name)
		}
		if diff := cmp.Diff([]string{"Secret s exists", "Secret s deleted"}, names); diff != "" {
			return errors.New(diff)
		}
		return nil
	})
	cancel()
	must.Succeed(t, <-watching)
}
