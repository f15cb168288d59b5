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
	"encoding/json"
	"encoding/xml"
	"errors"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/watch"

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
		{Group: "Plane", Track: "Cluster c", Name: "exists", Begin: second(0), Details: map[string]string{}},
		{Group: "Plane", Track: "Machine m", Name: "created", Begin: second(1), Details: map[string]string{}},
		{Group: "Plane", Track: "Machine m", Name: "Ready=False (Waiting)", Begin: second(1), End: second(3)},
		{Group: "Plane", Track: "Machine m", Name: "spec.token", Begin: second(2), Details: map[string]string{"changed": "spec.token"}},
		{Group: "Plane", Track: "Machine m", Name: "Ready=True", Begin: second(3), Details: map[string]string{"changed": "status.conditions[Ready]"}},
		{Group: "Plane", Track: "Machine m", Name: "Ready=True", Begin: second(3), End: second(5)},
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
		{Group: EngineGroup, Track: "ContainerMachine m", Name: "StartContainer", Begin: second(1), End: second(1.5)},
		{Group: EngineGroup, Track: "ContainerCluster demo", Name: "StartContainer", Begin: second(0), End: second(1.5)},
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
		{Group: "Node m", Track: systemdTrack, Name: "Started kubelet.service.", Begin: second(1).Local()},
		{Group: "Node m", Track: bootstrapTrack, Name: "runcmd[0]", Begin: second(2).Local(), End: second(3).Local()},
		{Group: "Node m", Track: bootstrapTrack, Name: "certs", Begin: second(3).Local(), End: second(5).Local()},
	}
	if diff := cmp.Diff(want, stepsOf(journal, "Node m")); diff != "" {
		t.Errorf("steps (-want +got):\n%s", diff)
	}
}

func TestWaits(t *testing.T) {
	t.Parallel()
	change := func(at float64, track, fields string) Event {
		return Event{Group: ObjectsGroup, Track: track, Name: "changed", Begin: second(at), Details: map[string]string{"changed": fields}}
	}
	events := []Event{
		{Group: ObjectsGroup, Track: "Cluster c", Name: "created", Begin: second(1)},
		{Group: ObjectsGroup, Track: "ContainerCluster c", Name: "created", Begin: second(1)},
		change(2, "ContainerCluster c", "metadata.labels.a\nmetadata.ownerReferences[0].uid"),
		{Group: EngineGroup, Track: "ContainerCluster c", Name: "StartContainer", Begin: second(2.5), End: second(3)},
		change(4, "ContainerCluster c", "status.initialization.provisioned"),
		change(5, "Machine m", "spec.bootstrap.dataSecretName"),
		change(6, "ContainerMachine m", "status.initialization.provisioned"),
		change(7, "ContainerCluster c", "metadata.ownerReferences[1].uid"),
		{Group: NodesGroup, Track: "Node m", Name: "Ready=False (KubeletNotReady)", Begin: second(7), End: second(8)},
		{Group: NodesGroup, Track: "Node m", Name: "Ready=True", Begin: second(8), End: second(12)},
		change(10, "ContainerMachine m", "metadata.deletionTimestamp"),
		{Group: ObjectsGroup, Track: "ContainerMachine m", Name: "deleted", Begin: second(10.5)},
		{Group: ObjectsGroup, Track: "Cluster c", Name: "deleted", Begin: second(11)},
	}
	waits := Waits(events, second(0), second(12))
	at := second(0)
	for _, wait := range waits {
		if !wait.Begin.Equal(at) {
			t.Errorf("%s begins at %s, want %s: each moment counts once", wait.Track, wait.Begin, at)
		}
		at = wait.End
	}
	want := []Total{
		{"container engine", 500 * time.Millisecond},
		{"this provider", 3 * time.Second},
		{"nodes: systemd, kubeadm, kubelet, Pod network", 2 * time.Second},
		{"Cluster API and its API server", 4500 * time.Millisecond},
		{"capcon", 2 * time.Second},
	}
	if diff := cmp.Diff(want, TotalWaits(waits)); diff != "" {
		t.Errorf("totals (-want +got):\n%s", diff)
	}
	if got := TotalWaits(Waits(nil, second(0), second(1))); len(got) != 1 || got[0].Name != "capcon" {
		t.Errorf("without events the command waited for %v, want itself", got)
	}
}

// TestWrite reads what is written with decoders of the formats.
func TestWrite(t *testing.T) {
	t.Parallel()
	var recorder Recorder
	recorder.Add(
		Event{Group: "A", Track: "one", Name: "<span>", Begin: second(1), End: second(3), Details: map[string]string{"by": "x"}},
		Event{Group: "B", Track: "two", Name: "mark", Begin: second(2)},
		Event{Group: "B", Track: "two", Name: "before", Begin: second(-2)},
		Event{Group: "A", Track: "one", Name: "cut off", Begin: second(-1), End: second(9)},
	)
	events := recorder.Between(second(0), second(5))

	var written bytes.Buffer
	must.Succeed(t, WriteJSON(&written, events))
	var got struct{ TraceEvents []entry }
	must.Succeed(t, json.Unmarshal(written.Bytes(), &got))
	want := []entry{
		{Name: "process_name", Phase: "M", Process: 1, Args: map[string]any{"name": "A"}},
		{Name: "thread_name", Phase: "M", Process: 1, Thread: 1, Args: map[string]any{"name": "one"}},
		{Name: "cut off", Phase: "X", Duration: 5e6, Process: 1, Thread: 1},
		{Name: "<span>", Phase: "X", Time: 1e6, Duration: 2e6, Process: 1, Thread: 1, Args: map[string]any{"by": "x"}},
		{Name: "process_name", Phase: "M", Process: 2, Args: map[string]any{"name": "B"}},
		{Name: "thread_name", Phase: "M", Process: 2, Thread: 2, Args: map[string]any{"name": "two"}},
		{Name: "mark", Phase: "i", Scope: "t", Time: 2e6, Process: 2, Thread: 2},
	}
	if diff := cmp.Diff(want, got.TraceEvents); diff != "" {
		t.Errorf("entries (-want +got):\n%s", diff)
	}

	written.Reset()
	must.Succeed(t, WriteSVG(&written, events))
	bars := 0
	for decoder := xml.NewDecoder(&written); ; {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		must.Succeed(t, err)
		if text, isText := token.(xml.CharData); isText && strings.Contains(string(text), " s: ") {
			bars++
		}
	}
	if bars != len(events) {
		t.Errorf("the picture has %d of %d events", bars, len(events))
	}
	must.Succeed(t, WriteSVG(io.Discard, nil))
	written.Reset()
	must.Succeed(t, WriteJSON(&written, nil))
	if got := written.String(); !strings.Contains(got, `"traceEvents":[]`) {
		t.Errorf("a trace without events is %s", got)
	}
}
