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

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/wait"
	"sigs.k8s.io/controller-runtime/pkg/client"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/trace"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/logs"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// traceCommand is the group of what the command did.
const traceCommand = "capcon"

// tracing records what happens to a cluster while a command runs. A nil tracing records
// nothing.
type tracing struct {
	trace.Recorder

	file    *os.File
	cluster string
	began   time.Time
	// watching ends with stop.
	watching sync.WaitGroup
	stop     context.CancelFunc
	// missing is what could not be recorded, and why.
	mutex   sync.Mutex
	missing []error
}

// newTracing creates the file, so that a path that cannot be written is refused before
// anything else is done.
func (a *app) newTracing(path, cluster string) (*tracing, error) {
	if path == "" {
		return nil, nil //nolint:nilnil // A trace that records nothing.
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, fmt.Errorf("create trace: %w", err)
	}
	return &tracing{file: file, cluster: cluster, began: a.Now(), stop: func() {}}, nil
}

// traceUsage of the flag.
const traceUsage = "write a trace to FILE.json, for Perfetto and Chrome, or a diagram to FILE.svg"

// traced runs a command on a cluster and writes its trace, also if it fails.
func (s *session) traced(ctx context.Context, path, cluster string, run func() error) (err error) {
	if s.trace, err = s.newTracing(path, cluster); err != nil {
		return err
	}
	defer s.trace.finish(ctx, s)
	return run()
}

// span of the command; call what it returns at its end.
func (t *tracing) span(now func() time.Time, name string) (end func()) {
	if t == nil {
		return func() {}
	}
	began := now()
	return func() { t.Add(trace.Event{Group: traceCommand, Track: name, Name: name, Begin: began, End: now()}) }
}

// watch the objects in the management plane, and the Nodes, until ctx or the trace ends.
// A plane that was watched before is not any more.
func (t *tracing) watch(ctx context.Context, s *session) {
	if t == nil {
		return
	}
	t.stop()
	t.watching.Wait()
	ctx, t.stop = context.WithCancel(ctx)
	t.watching.Go(func() { t.note(trace.Watch(ctx, &t.Recorder, trace.ObjectsGroup, s.client, selections(t.cluster)...)) })
	t.watching.Go(func() {
		nodes, err := s.awaitWorkloadCluster(ctx, t.cluster)
		if err != nil {
			return // The cluster had no API server as long as the trace lasted.
		}
		node := trace.Selection{Kind: corev1.SchemeGroupVersion.WithKind("Node")}
		t.note(trace.Watch(ctx, &t.Recorder, trace.NodesGroup, nodes, node))
	})
}

func (t *tracing) note(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.missing = append(t.missing, err)
}

// awaitWorkloadCluster returns a client of a cluster's API server as soon as it answers.
func (s *session) awaitWorkloadCluster(ctx context.Context, name string) (client.WithWatch, error) {
	const interval = 100 * time.Millisecond
	var workload client.WithWatch
	err := wait.PollUntilContextCancel(ctx, interval, true, func(ctx context.Context) (bool, error) {
		kubeconfig, err := management.Kubeconfig(ctx, s.client, namespace, name)
		if err == nil {
			workload, err = s.Client(kubeconfig)
		}
		if err == nil {
			err = workload.List(ctx, &corev1.NodeList{})
		}
		return err == nil, nil
	})
	return workload, err //nolint:wrapcheck // It is the context's.
}

// selections are what belongs to a cluster in the management plane.
func selections(cluster string) []trace.Selection {
	in, named, labeled := client.InNamespace(namespace), client.MatchingFields{"metadata.name": cluster}, client.MatchingLabels{clusterv1.ClusterNameLabel: cluster}
	all := []trace.Selection{
		{Kind: clusterv1.GroupVersion.WithKind("Cluster"), Options: []client.ListOption{in, named}},
		{Kind: addonsv1.GroupVersion.WithKind("ClusterResourceSetBinding"), Options: []client.ListOption{in, named}},
		{Kind: corev1.SchemeGroupVersion.WithKind("Secret"), Options: []client.ListOption{in, labeled}, MetadataOnly: true},
	}
	for _, kind := range []schema.GroupVersionKind{
		infrav1.GroupVersion.WithKind("ContainerCluster"),
		controlplanev1.GroupVersion.WithKind("KubeadmControlPlane"),
		clusterv1.GroupVersion.WithKind("MachineDeployment"),
		clusterv1.GroupVersion.WithKind("MachineSet"),
		clusterv1.GroupVersion.WithKind("Machine"),
		infrav1.GroupVersion.WithKind("ContainerMachine"),
		bootstrapv1.GroupVersion.WithKind("KubeadmConfig"),
	} {
		all = append(all, trace.Selection{Kind: kind, Options: []client.ListOption{in, labeled}})
	}
	return all
}

// traceTimeout bounds what is read at the end of a trace.
const traceTimeout = 30 * time.Second

// finish the trace, also one of a command that failed or was interrupted.
func (t *tracing) finish(ctx context.Context, s *session) {
	if t == nil {
		return
	}
	ended := s.Now()
	t.stop()
	t.watching.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceTimeout)
	defer cancel()
	t.note(t.addEngineCalls(ctx, s))
	t.note(t.addNodes(ctx, s))
	write := trace.WriteJSON
	if filepath.Ext(t.file.Name()) == ".svg" {
		write = trace.WriteSVG
	}
	waits := trace.Waits(t.Between(t.began, ended), t.began, ended)
	t.Add(waits...)
	err := errors.Join(write(t.file, t.Between(t.began, ended)), t.file.Close())
	for _, missing := range t.missing {
		s.complain("Not traced: %v", missing)
	}
	if err != nil {
		s.complain("The trace is incomplete: %v", err)
		return
	}
	s.say("Wrote the trace %s. The command waited for:", t.file.Name())
	for _, total := range trace.TotalWaits(waits) {
		s.say("  %6.1fs  %s", total.Time.Seconds(), total.Name)
	}
}

func (t *tracing) addEngineCalls(ctx context.Context, s *session) error {
	log := logs.Log{Container: plane.DefaultName, Source: logs.Console}
	text, err := log.Read(ctx, s.engine, planeLogLines)
	if err != nil {
		return err //nolint:wrapcheck // It names the log.
	}
	t.Add(trace.EngineCalls(text, t.cluster, s.Now())...)
	return nil
}

// addNodes of containers that run: the journal of others cannot be read.
func (t *tracing) addNodes(ctx context.Context, s *session) error {
	containers, err := s.containersOf(ctx, t.cluster)
	if err != nil {
		return err
	}
	var errs []error
	for _, container := range containers {
		machine := container.Labels[identity.LabelMachine]
		if machine == "" || container.Status != engine.StatusRunning {
			continue
		}
		steps, err := trace.Node(ctx, s.engine, container.Name, machine, t.began)
		t.Add(steps...)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
