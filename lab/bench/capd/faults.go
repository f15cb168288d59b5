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

package main

import (
	"context"
	"errors"
	"fmt"
	"path"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// What is watched for after a fault.
const (
	deadInInfrastructure = "killed worker: Machine's InfrastructureReady not True after"
	deadInReady          = "killed worker: Machine's Ready not True after"
	deadRepaired         = "killed worker: its Machine Ready again after"
	apiAgain             = "engine restart: the API answers again after"
	nodesAgain           = "engine restart: all Nodes Ready again after"
)

var errNoWorker = errors.New("no worker has a container")

// killWorker kills a worker's container and returns when its Machine says so.
func (c *cluster) killWorker(ctx context.Context) (map[string]value, error) {
	machine, err := c.worker(ctx)
	if err != nil {
		return nil, err
	}
	seen := map[string]value{
		deadInInfrastructure: never(c.bench.faultLimit), deadInReady: never(c.bench.faultLimit), deadRepaired: never(c.bench.faultLimit),
	}
	limited, stop := context.WithTimeout(ctx, c.bench.faultLimit)
	defer stop()
	begin := time.Now()
	if _, err := command(ctx, "docker", "kill", path.Base(machine.Spec.ProviderID)); err != nil {
		return nil, err
	}
	note := func(what string) {
		if seen[what].limit > 0 {
			seen[what] = seconds(time.Since(begin))
		}
	}
	_, err = c.management.watch.until(limited, func(ctx context.Context) (bool, error) {
		now := &clusterv1.Machine{}
		if err := c.management.watch.Get(ctx, client.ObjectKeyFromObject(machine), now); err != nil {
			return false, err
		}
		infrastructure := meta.IsStatusConditionTrue(now.Status.Conditions, clusterv1.InfrastructureReadyCondition)
		ready := meta.IsStatusConditionTrue(now.Status.Conditions, clusterv1.ReadyCondition)
		if !infrastructure {
			note(deadInInfrastructure)
		}
		if !ready {
			note(deadInReady)
		}
		// Ready again means that it was seen not to be, and repaired since.
		again := infrastructure && ready && seen[deadInReady].limit == 0
		if again {
			note(deadRepaired)
		}
		return again, nil
	})
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		err = nil
	}
	return seen, err
}

// worker is one whose Machine is ready.
func (c *cluster) worker(ctx context.Context) (*clusterv1.Machine, error) {
	machines, err := c.machines(ctx)
	if err != nil {
		return nil, err
	}
	for i := range machines {
		_, controlPlane := machines[i].Labels[clusterv1.MachineControlPlaneLabel]
		if !controlPlane && machines[i].Spec.ProviderID != "" {
			return &machines[i], nil
		}
	}
	return nil, errNoWorker
}

// restartEngine stops and starts the engine, and returns when the cluster's API
// answers again by the kubeconfig that it always had. The time counts from when
// the engine answers.
func (c *cluster) restartEngine(ctx context.Context) (map[string]value, error) {
	stopped := time.Now()
	for _, script := range []string{c.bench.engineStop, c.bench.engineStart} {
		if _, err := command(ctx, script); err != nil {
			return nil, fmt.Errorf("restart the engine: %w", err)
		}
	}
	again := map[string]value{apiAgain: never(c.bench.restartLimit), nodesAgain: never(c.bench.restartLimit)}
	begin := metav1.Now()
	limited, cancel := context.WithTimeout(ctx, c.bench.restartLimit)
	defer cancel()
	if err := c.awaitAPI(limited); err != nil {
		return again, ctx.Err()
	}
	again[apiAgain] = seconds(time.Since(begin.Time))
	watching, cancelWatch := context.WithCancel(ctx)
	defer cancelWatch()
	nodes, err := newObserver(watching, c.workload, nil, &corev1.Node{})
	if err != nil {
		return nil, err
	}
	// A Node that has not been looked at since the stop may still be called Ready.
	at, err := nodes.until(limited, func(ctx context.Context) (bool, error) { return c.nodesReadySince(ctx, nodes, stopped) })
	if err == nil {
		again[nodesAgain] = seconds(at.Sub(begin.Time))
	}
	return again, ctx.Err()
}

func (c *cluster) nodesReadySince(ctx context.Context, nodes *observer, since time.Time) (bool, error) {
	list := &corev1.NodeList{}
	if err := nodes.List(ctx, list); err != nil {
		return false, err
	}
	ready := 0
	for i := range list.Items {
		for _, condition := range list.Items[i].Status.Conditions {
			if condition.Type == corev1.NodeReady && condition.Status == corev1.ConditionTrue && condition.LastHeartbeatTime.After(since) {
				ready++
			}
		}
	}
	return ready == c.shape.machines(), nil
}
