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
	"sync"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/manager"
)

// runner runs one function per key while the manager is the leader.
type runner struct {
	mutex   sync.Mutex
	running map[client.ObjectKey]*run
	stopped bool
}

type run struct {
	settings Settings
	wake     chan struct{}
	cancel   context.CancelFunc
	ended    chan struct{}
}

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
// the same settings is woken. Its context has the values of ctx, and outlives it: it ends
// with stop. A function that returned can be started again.
func (r *runner) start(ctx context.Context, key client.ObjectKey, settings Settings, function func(ctx context.Context, wake <-chan struct{}) error) {
	if r.wake(key, settings) {
		return
	}
	r.stop(key)
	r.mutex.Lock()
	defer r.mutex.Unlock()
	if r.stopped {
		return
	}
	if r.running == nil {
		r.running = map[client.ObjectKey]*run{}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	one := &run{settings: settings, wake: make(chan struct{}, 1), cancel: cancel, ended: make(chan struct{})}
	r.running[key] = one
	go func() {
		defer close(one.ended)
		defer cancel()
		if err := function(ctx, one.wake); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).Error(err, "Failed to run controllers of workload cluster")
		}
		r.mutex.Lock()
		defer r.mutex.Unlock()
		if r.running[key] == one {
			delete(r.running, key)
		}
	}()
}

// wake the function of the key; false if none runs with the settings.
func (r *runner) wake(key client.ObjectKey, settings Settings) bool {
	r.mutex.Lock()
	defer r.mutex.Unlock()
	one := r.running[key]
	if one == nil || one.settings != settings {
		return false
	}
	select {
	case one.wake <- struct{}{}:
	default:
		// It has not looked since it was last woken.
	}
	return true
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
