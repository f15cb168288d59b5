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

package workload

import (
	"context"
	"maps"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	"github.com/capi-samples/cluster-api-provider-container/controllers/workload/serviceloadbalancer"
)

// retryInterval is the time after which a function that failed is run again.
const retryInterval = 5 * time.Second

// engineName is that of the ContainerEngine; empty = the manager's own engine.
func (s Settings) engineName() types.NamespacedName {
	if s.Connection == nil {
		return types.NamespacedName{}
	}
	return s.Connection.Name
}

// runner runs one function per key while the manager is the leader.
type runner struct {
	// changed is called when a report changed; nil = changes are not reported.
	changed func(ctx context.Context, key client.ObjectKey)

	mutex   sync.Mutex
	running map[client.ObjectKey]*run
	stopped bool
}

type run struct {
	settings Settings
	changes  Changes
	cancel   context.CancelFunc
	ended    chan struct{}
	reports  map[Part]report
}

// Changes of the containers of a cluster, for the function.
type Changes struct {
	// Services are the load balancers that may have changed.
	Services *serviceloadbalancer.Changes
	// Nodes receives if a node's container may have changed.
	Nodes chan struct{}
}

func newChanges() Changes {
	return Changes{Services: serviceloadbalancer.NewChanges(), Nodes: make(chan struct{}, 1)}
}

// addNode: the function looks at all nodes once, however often they changed meanwhile.
func (c Changes) addNode() {
	select {
	case c.Nodes <- struct{}{}:
	default:
	}
}

// report is the last one of a part. It is no record: it is gone with the function.
type report struct {
	notice, problem string
}

// function runs until ctx ends. It may return earlier, with nothing left to do or an error.
type function func(ctx context.Context, changes Changes, report Report) error

var (
	_ manager.Runnable               = &runner{}
	_ manager.LeaderElectionRunnable = &runner{}
)

// Start implements manager.Runnable: it stops all functions when the manager ends.
func (r *runner) Start(ctx context.Context) error {
	<-ctx.Done()
	r.mutex.Lock()
	r.stopped = true
	ending := r.running
	r.running = nil
	r.mutex.Unlock()
	for _, one := range ending {
		one.cancel()
	}
	for _, one := range ending {
		<-one.ended
	}
	return nil
}

// NeedLeaderElection implements manager.LeaderElectionRunnable.
func (r *runner) NeedLeaderElection() bool { return true }

// start a function, and stop the one that runs for the key with other settings; one with
// the same settings is left alone, and its reports are returned. Its context has the values of
// ctx, and outlives it: it ends with stop. A function that fails is repeated.
func (r *runner) start(ctx context.Context, key client.ObjectKey, settings Settings, function function) map[Part]report {
	if reports, runs := r.reports(key, settings); runs {
		return reports
	}
	r.stop(key)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.stopped {
		return nil
	}
	if r.running == nil {
		r.running = map[client.ObjectKey]*run{}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	one := &run{settings: settings, changes: newChanges(), cancel: cancel, ended: make(chan struct{}), reports: map[Part]report{}}
	r.running[key] = one
	go func() {
		defer close(one.ended)
		// Only this goroutine replaces them.
		defer func() { one.changes.Services.Close() }()
		defer cancel()
		report, failed := r.reporter(ctx, key, one), false
		_ = wait.PollUntilContextCancel(ctx, retryInterval, true, func(ctx context.Context) (ended bool, _ error) {
			if failed {
				report(all, "", nil)
			}
			err := function(ctx, r.renewChanges(one), report)
			failed = err != nil && ctx.Err() == nil
			if failed {
				ctrl.LoggerFrom(ctx).Error(err, "Failed to run controllers of workload cluster; retrying")
				report(all, "", err)
			}
			return !failed, nil
		})
	}()
	return nil
}

// renewChanges returns changes that no earlier attempt of the function still takes from.
func (r *runner) renewChanges(one *run) Changes {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	one.changes.Services.Close()
	one.changes = newChanges()
	return one.changes
}

// reporter keeps what a function reports, and notifies of a change.
func (r *runner) reporter(ctx context.Context, key client.ObjectKey, one *run) Report {
	return func(part Part, notice string, err error) {
		now := report{notice: notice}
		if err != nil {
			now.problem = err.Error()
		}
		r.mutex.Lock()
		before, reported := one.reports[part]
		one.reports[part] = now
		r.mutex.Unlock()
		if r.changed != nil && (!reported || before != now) {
			r.changed(ctx, key)
		}
	}
}

// reports of the function of the key; false if none runs with the settings.
func (r *runner) reports(key client.ObjectKey, settings Settings) (_ map[Part]report, runs bool) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	one := r.running[key]
	if one == nil || one.settings != settings {
		return nil, false
	}
	return maps.Clone(one.reports), true
}

// passOn to the function of the key that a container with these labels may have changed.
// One that starts later looks at all. It reports whether the function has load balancers.
func (r *runner) passOn(key client.ObjectKey, labels map[string]string) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	one := r.running[key]
	if one == nil || !one.settings.LoadBalancers {
		return false
	}
	one.changes.Services.Add(labels)
	return true
}

// passOnNode: a container of a node may have changed.
func (r *runner) passOnNode(key client.ObjectKey) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if one := r.running[key]; one != nil {
		one.changes.addNode()
	}
}

// passOnAll says to all functions on an engine that changes may have been missed.
func (r *runner) passOnAll(engine types.NamespacedName) {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	for _, one := range r.running {
		if one.settings.engineName() == engine {
			one.changes.Services.AddAll()
			one.changes.addNode()
		}
	}
}

// stop ends the function of the key and waits for it.
func (r *runner) stop(key client.ObjectKey) {
	r.mutex.Lock()
	one := r.running[key]
	delete(r.running, key)
	r.mutex.Unlock()
	if one == nil {
		return
	}
	one.cancel()
	<-one.ended
}
