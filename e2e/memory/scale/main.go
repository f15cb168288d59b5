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

// Scale measures how the cost of a management plane grows with its clusters, which are in memory:
// it creates them, lets them settle, changes a field of each and deletes them.
//
//	scale -clusters=10 -binaries=DIR -plane=capcon-plane -manager=capcon-memory
//
// With -rival it does so with this provider's manager and with CAPD's, both next to Cluster API's own managers, and compares them.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/wait"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"

	"github.com/capi-samples/cluster-api-provider-container/e2e/memory/process"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

const (
	namespace = "default"
	// interval between polls of all clusters.
	interval = 500 * time.Millisecond
)

type options struct {
	clusters, workers          int
	binaries, plane, manager   string
	rival                      bool
	stock, root                string
	clusterAPI, clusterAPITest string
	timeout, settling, measure time.Duration
}

func main() {
	var opts options
	flag.IntVar(&opts.clusters, "clusters", 10, "number of clusters")
	flag.IntVar(&opts.workers, "workers", 3, "workers of each, besides its control plane")
	flag.StringVar(&opts.binaries, "binaries", "", "directory of etcd, kube-apiserver and kube-controller-manager")
	flag.StringVar(&opts.plane, "plane", "bin/capcon-plane", "program of the management plane")
	flag.StringVar(&opts.manager, "manager", "bin/capcon-memory", "program of its manager")
	flag.BoolVar(&opts.rival, "rival", false, "compare this provider's manager with CAPD's, each next to Cluster API's own managers")
	flag.StringVar(&opts.stock, "stock", "bin/stock", "directory of these managers and of CAPD's")
	flag.StringVar(&opts.root, "root", ".", "directory of this repository")
	flag.StringVar(&opts.clusterAPI, "cluster-api", "", "directory of the module sigs.k8s.io/cluster-api")
	flag.StringVar(&opts.clusterAPITest, "cluster-api-test", "", "directory of the module sigs.k8s.io/cluster-api/test")
	flag.DurationVar(&opts.timeout, "timeout", time.Hour, "of each step")
	flag.DurationVar(&opts.settling, "settling", 30*time.Second, "time without a step before the clusters count as settled")
	flag.DurationVar(&opts.measure, "settled", time.Minute, "time for which settled clusters are measured")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	measure := run
	if opts.rival {
		measure = compare
	}
	if err := measure(ctx, opts, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1) //nolint:gocritic // The plane is stopped before.
	}
}

// run measures, and prints a table.
func run(ctx context.Context, opts options, out io.Writer) (err error) {
	directory, err := os.MkdirTemp("", "capcon-scale-")
	if err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	defer func() {
		if err == nil { // or its log is needed
			err = os.RemoveAll(directory)
		}
	}()
	plane, err := process.Start(ctx, process.Options{
		Program: opts.plane, Manager: opts.manager, Binaries: opts.binaries, Directory: filepath.Join(directory, "plane"),
	})
	if err != nil {
		return err //nolint:wrapcheck // It says what was not started.
	}
	defer func() { err = errors.Join(err, plane.Stop()) }()
	config, err := clientcmd.BuildConfigFromFlags("", plane.Kubeconfig)
	if err != nil {
		return fmt.Errorf("read kubeconfig: %w", err)
	}
	b := &bench{
		opts: opts, subject: container(opts), parent: plane.PID, metrics: []string{process.MetricsAddress}, apiHost: process.APIAddress, out: out,
	}
	if err := b.connect(ctx, config); err != nil {
		return err
	}
	_, err = b.run(ctx)
	return err
}

// bench is one measurement.
type bench struct {
	opts    options
	subject subject
	// parent of all processes that are measured.
	parent int
	// metrics are the addresses of the managers', and apiHost that of the API server.
	metrics []string
	apiHost string
	api     client.Client
	out     io.Writer
}

// connect to the API server, and give it the ClusterClass.
func (b *bench) connect(ctx context.Context, config *rest.Config) error {
	scheme := runtime.NewScheme()
	if err := errors.Join(clientgoscheme.AddToScheme(scheme), clusterv1.AddToScheme(scheme)); err != nil {
		return fmt.Errorf("register API types: %w", err)
	}
	config = rest.CopyConfig(config)
	config.QPS, config.Burst = 500, 1000
	// The table is all that is printed.
	config.WarningHandlerWithContext = rest.NoWarnings{}
	var err error
	if b.api, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	// Webhooks of all managers take part.
	return b.until(ctx, "the ClusterClass is created", b.createClass)
}

func (b *bench) createClass(ctx context.Context) error {
	for document := range strings.SplitSeq("\n"+b.subject.class, "\n---") {
		object := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte(document), object); err != nil {
			return err
		}
		object.SetNamespace(namespace)
		if err := b.api.Create(ctx, object); client.IgnoreAlreadyExists(err) != nil {
			return err
		}
	}
	return nil
}

// run the steps, and print and return what each has cost.
func (b *bench) run(ctx context.Context) ([]result, error) {
	var results []result
	objects := b.opts.clusters * (2 + b.opts.workers)
	_, _ = fmt.Fprintf(b.out, "%d clusters of 1 + %d, %d Clusters and Machines\n\n", b.opts.clusters, b.opts.workers, objects)
	_, _ = fmt.Fprintln(b.out, header)
	for _, step := range []struct {
		name string
		do   func(context.Context) error
	}{
		{"created", b.create},
		{"settling", func(ctx context.Context) error { return pause(ctx, b.opts.settling) }},
		{"settled", func(ctx context.Context) error { return pause(ctx, b.opts.measure) }},
		{"field changed", b.change},
		{"deleted", b.remove},
	} {
		before, err := b.observe(ctx)
		if err != nil {
			return nil, err
		}
		if err := step.do(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", step.name, err)
		}
		after, err := b.observe(ctx)
		if err != nil {
			return nil, err
		}
		used := after.since(before)
		results = append(results, result{step.name, used})
		_, _ = fmt.Fprintln(b.out, used.row(step.name, b.opts.clusters, objects))
	}
	return results, nil
}

func pause(ctx context.Context, duration time.Duration) error {
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (b *bench) create(ctx context.Context) error {
	for i := range b.opts.clusters {
		if err := b.api.Create(ctx, b.cluster(i)); err != nil {
			return fmt.Errorf("create Cluster: %w", err)
		}
	}
	return b.until(ctx, "all clusters are available", func(ctx context.Context) error {
		return b.all(ctx, func(cluster *clusterv1.Cluster) error {
			if !conditions.IsTrue(cluster, clusterv1.ClusterAvailableCondition) {
				return fmt.Errorf("cluster %s: %s", cluster.Name, conditions.GetMessage(cluster, clusterv1.ClusterAvailableCondition))
			}
			return nil
		})
	})
}

func (b *bench) cluster(index int) *clusterv1.Cluster {
	return &clusterv1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: fmt.Sprintf("c%04d", index)},
		Spec: clusterv1.ClusterSpec{Topology: clusterv1.Topology{
			ClassRef: clusterv1.ClusterClassRef{Name: b.subject.className}, Version: node.DefaultVersion,
			ControlPlane: clusterv1.ControlPlaneTopology{Replicas: ptr.To[int32](1)},
			Workers: clusterv1.WorkersTopology{MachineDeployments: []clusterv1.MachineDeploymentTopology{
				{Class: b.subject.workers, Name: "worker", Replicas: ptr.To(int32(b.opts.workers))}, //nolint:gosec // A few.
			}},
			Variables: b.subject.variables,
		}},
	}
}

// changed is the annotation that Machines get in place.
const changed = "scale.example.test/changed"

// change an annotation of the worker Machines of each cluster, which replaces none.
func (b *bench) change(ctx context.Context) error {
	err := b.all(ctx, func(cluster *clusterv1.Cluster) error {
		original := cluster.DeepCopy()
		cluster.Spec.Topology.Workers.MachineDeployments[0].Metadata.Annotations = map[string]string{changed: "yes"}
		return b.api.Patch(ctx, cluster, client.MergeFrom(original))
	})
	if err != nil {
		return fmt.Errorf("patch Clusters: %w", err)
	}
	return b.until(ctx, "all Machines have the annotation", func(ctx context.Context) error {
		machines := &clusterv1.MachineList{}
		if err := b.api.List(ctx, machines, client.InNamespace(namespace)); err != nil {
			return err
		}
		done := 0
		for i := range machines.Items {
			if machines.Items[i].Annotations[changed] != "" {
				done++
			}
		}
		if want := b.opts.clusters * b.opts.workers; done != want {
			return fmt.Errorf("%d of %d have it", done, want)
		}
		return nil
	})
}

func (b *bench) remove(ctx context.Context) error {
	err := b.all(ctx, func(cluster *clusterv1.Cluster) error { return b.api.Delete(ctx, cluster) })
	if err != nil {
		return fmt.Errorf("delete Clusters: %w", err)
	}
	return b.until(ctx, "all clusters are gone", func(ctx context.Context) error {
		return b.all(ctx, func(cluster *clusterv1.Cluster) error { return fmt.Errorf("cluster %s is there", cluster.Name) })
	})
}

func (b *bench) all(ctx context.Context, do func(*clusterv1.Cluster) error) error {
	clusters := &clusterv1.ClusterList{}
	if err := b.api.List(ctx, clusters, client.InNamespace(namespace)); err != nil {
		return err
	}
	for i := range clusters.Items {
		if err := do(&clusters.Items[i]); client.IgnoreNotFound(err) != nil || apierrors.IsConflict(err) {
			return err
		}
	}
	return nil
}

// until the check succeeds, or the timeout of a step.
func (b *bench) until(ctx context.Context, what string, check func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, interval, b.opts.timeout, true, func(ctx context.Context) (bool, error) {
		last = check(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("wait until %s: %w: %w", what, errors.Join(err, context.Cause(ctx)), last)
	}
	return nil
}
