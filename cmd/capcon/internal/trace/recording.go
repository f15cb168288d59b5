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
	"context"
	"errors"
	"fmt"
	"os"
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
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/logs"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// commandGroup is the group of what the command did.
const commandGroup = "capcon"

// Recording is what happens to a cluster while a command runs. A nil Recording records
// nothing.
type Recording struct {
	Recorder

	session *session.Session
	file    *os.File
	cluster string
	start   time.Time
	// watching ends with stop.
	watching sync.WaitGroup
	stop     context.CancelFunc
	// missing is what could not be recorded, and why.
	mutex   sync.Mutex
	missing []error
}

// Usage of the flag.
const Usage = "write a trace to FILE, for Perfetto and Chrome"

// Run a command on a cluster and write its trace to a path, also if it fails; none without a
// path.
func Run(ctx context.Context, s *session.Session, path, cluster string, run func(*Recording) error) error {
	if path == "" {
		return run(nil)
	}
	// Created first, so that a path that cannot be written is refused before anything else is done.
	file, err := os.OpenFile(path, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("create trace: %w", err)
	}
	t := &Recording{session: s, file: file, cluster: cluster, start: s.Now(), stop: func() {}}
	defer t.finish(ctx)
	return run(t)
}

// Span of the command; call what it returns at its end.
func (t *Recording) Span(name string) (end func()) {
	if t == nil {
		return func() {}
	}
	start := t.session.Now()
	return func() {
		t.Add(Event{Group: commandGroup, Track: name, Name: name, Start: start, End: t.session.Now()})
	}
}

// WatchObjects in the management plane, and the Nodes, until ctx or the trace ends.
// A plane that was watched before is not any more.
func (t *Recording) WatchObjects(ctx context.Context) {
	if t == nil {
		return
	}
	t.stop()
	t.watching.Wait()
	ctx, t.stop = context.WithCancel(ctx)
	t.watching.Go(func() {
		t.note(Watch(ctx, &t.Recorder, ObjectsGroup, t.session.Client, selections(t.cluster)...))
	})
	t.watching.Go(func() {
		nodes, err := t.awaitWorkloadCluster(ctx)
		if err != nil {
			return // The cluster had no API server as long as the trace lasted.
		}
		t.note(Watch(ctx, &t.Recorder, NodesGroup, nodes, Selection{Kind: corev1.SchemeGroupVersion.WithKind("Node")}))
	})
}

func (t *Recording) note(err error) {
	if err == nil || errors.Is(err, context.Canceled) {
		return
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	t.missing = append(t.missing, err)
}

// awaitWorkloadCluster returns a client of the cluster's API server as soon as it answers.
func (t *Recording) awaitWorkloadCluster(ctx context.Context) (workload client.WithWatch, err error) {
	const interval = 100 * time.Millisecond
	err = wait.PollUntilContextCancel(ctx, interval, true, func(ctx context.Context) (bool, error) {
		workload, err = t.session.Workload(ctx, t.cluster)
		if err == nil {
			err = workload.List(ctx, &corev1.NodeList{})
		}
		return err == nil, nil
	})
	return workload, err //nolint:wrapcheck // It is the context's.
}

// selections are what belongs to a cluster in the management plane.
func selections(cluster string) []Selection {
	in, named, labeled := client.InNamespace(management.Namespace), client.MatchingFields{"metadata.name": cluster}, client.MatchingLabels{clusterv1.ClusterNameLabel: cluster}
	all := []Selection{
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
		all = append(all, Selection{Kind: kind, Options: []client.ListOption{in, labeled}})
	}
	return all
}

// finishTimeout bounds what is read at the end of a command.
const finishTimeout = 30 * time.Second

// finish the trace, also one of a command that failed or was interrupted.
func (t *Recording) finish(ctx context.Context) {
	s := t.session
	end := s.Now()
	t.stop()
	t.watching.Wait()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), finishTimeout)
	defer cancel()
	t.note(t.addEngineCalls(ctx))
	t.note(t.addNodes(ctx))
	waits := Waits(t.Between(t.start, end), t.start, end)
	t.Add(waits...)
	err := errors.Join(WriteJSON(t.file, t.Between(t.start, end)), t.file.Close())
	for _, missing := range t.missing {
		s.Errorf("Not traced: %v", missing)
	}
	if err != nil {
		s.Errorf("The trace is incomplete: %v", err)
		return
	}
	s.Printf("Wrote the trace %s. The command waited for:", t.file.Name())
	for _, component := range components() {
		if total := totalWait(waits, component); total > 0 {
			s.Printf("  %6.1fs  %s", total.Seconds(), component)
		}
	}
}

func (t *Recording) addEngineCalls(ctx context.Context) error {
	log := logs.Log{Container: plane.DefaultName, Source: logs.Console}
	text, err := log.Read(ctx, t.session.Engine, session.PlaneLogLines)
	if err != nil {
		return err //nolint:wrapcheck // It names the log.
	}
	t.Add(EngineCalls(text, t.cluster, t.session.Now())...)
	return nil
}

// addNodes of containers that run: the journal of others cannot be read.
func (t *Recording) addNodes(ctx context.Context) error {
	record, _ := t.session.Records.Get(t.cluster)
	if record.OwnerID == "" {
		return nil
	}
	containers, err := t.session.Containers(ctx, identity.Owner{Namespace: management.Namespace, Cluster: t.cluster, ID: record.OwnerID})
	errs := []error{err}
	for _, container := range containers {
		machine := container.Labels[identity.LabelMachine]
		if machine == "" || container.Status != engine.StatusRunning {
			continue
		}
		steps, err := Node(ctx, container.On.Engine, container.Name, machine, t.start)
		t.Add(steps...)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}
