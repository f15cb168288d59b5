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
	"fmt"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/component-base/logs"
	logsv1 "k8s.io/component-base/logs/api/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/feature"
	"sigs.k8s.io/cluster-api/util/flags"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/metered"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// options of the manager. Names and defaults are those of Cluster API's own
// managers wherever they have the flag.
type options struct {
	leaderElect                               bool
	leaseDuration, renewDeadline, retryPeriod time.Duration

	namespace, watchFilter string
	syncPeriod             time.Duration

	kubeAPIQPS, clusterCacheQPS     float32
	kubeAPIBurst, clusterCacheBurst int

	clusterConcurrency, machineConcurrency, machinePoolConcurrency, clusterCacheConcurrency int

	webhookPort                                     int
	webhookCertDir, webhookCertName, webhookKeyName string
	healthAddress, profilerAddress                  string
	contentionProfiling, runtimeExtension           bool
	manager                                         flags.ManagerOptions
	logs                                            *logs.Options
	engine                                          connect.Options
	metered                                         metered.Options
	loadBalancerImage, selfContainer                string
	maxPersistentVolumes, maxLoadBalancers          int32
	hostPortRange                                   string
	allowedEndpoints                                []string
}

func defaultOptions() *options {
	return &options{logs: logs.NewOptions()}
}

// addFlags registers every flag, with its default, at the flag set.
func (o *options) addFlags(set *pflag.FlagSet) {
	logsv1.AddFlags(o.logs, set)
	flags.AddManagerOptions(set, &o.manager)
	feature.MutableGates.AddFlag(set)
	o.addScopeFlags(set)
	o.addServingFlags(set)
	o.addLoadFlags(set)
	o.addEngineFlags(set)
	o.addLimitFlags(set)
}

func (o *options) addScopeFlags(set *pflag.FlagSet) {
	set.BoolVar(&o.leaderElect, "leader-elect", false, "Let only one of several managers be active at a time.")
	set.DurationVar(&o.leaseDuration, "leader-elect-lease-duration", 15*time.Second, "How long others wait before they take over from a leader that is silent.")
	set.DurationVar(&o.renewDeadline, "leader-elect-renew-deadline", 10*time.Second, "How long the leader tries to renew before it gives up.")
	set.DurationVar(&o.retryPeriod, "leader-elect-retry-period", 2*time.Second, "How long to wait between two tries to lead or renew.")
	set.StringVar(&o.namespace, "namespace", "", "Namespace whose objects are reconciled; empty means all.")
	set.StringVar(&o.watchFilter, "watch-filter", "", fmt.Sprintf("Value of the label %s of the objects that are reconciled; empty means all objects.", clusterv1.WatchLabel))
	set.DurationVar(&o.syncPeriod, "sync-period", 10*time.Minute, "How often everything is reconciled without an event.")
}

func (o *options) addServingFlags(set *pflag.FlagSet) {
	set.IntVar(&o.webhookPort, "webhook-port", 9443, "Port of the webhook server; 0 serves no webhooks and needs no certificate, for an API server without webhook configurations.")
	set.StringVar(&o.webhookCertDir, "webhook-cert-dir", "/tmp/k8s-webhook-server/serving-certs/", "Directory of the webhook server's certificate.")
	set.StringVar(&o.webhookCertName, "webhook-cert-name", "tls.crt", "File of the certificate in that directory.")
	set.StringVar(&o.webhookKeyName, "webhook-key-name", "tls.key", "File of the key in that directory.")
	set.BoolVar(&o.runtimeExtension, "runtime-extension", false, "Serve the Runtime Extension for in-place updates of Machines, at the webhook server. Cluster API uses it where an ExtensionConfig says so; see docs/how-to/in-place-updates.md.")
	set.StringVar(&o.healthAddress, "health-addr", ":9440", "Address of /healthz and /readyz.")
	set.StringVar(&o.profilerAddress, "profiler-address", "", "Address of the pprof profiler, such as localhost:6060; empty turns it off.")
	set.BoolVar(&o.contentionProfiling, "contention-profiling", false, "Record where goroutines block, for the profiler.")
}

func (o *options) addLoadFlags(set *pflag.FlagSet) {
	set.Float32Var(&o.kubeAPIQPS, "kube-api-qps", 100, "Maximum queries per second to the management cluster's API server.")
	set.IntVar(&o.kubeAPIBurst, "kube-api-burst", 200, "Most queries in one burst to the management cluster's API server.")
	set.Float32Var(&o.clusterCacheQPS, "clustercache-client-qps", 20, "Maximum queries per second to each workload cluster's API server.")
	set.IntVar(&o.clusterCacheBurst, "clustercache-client-burst", 30, "Most queries in one burst to each workload cluster's API server.")
	set.IntVar(&o.clusterConcurrency, "containercluster-concurrency", 10, "Maximum number of ContainerClusters to reconcile concurrently.")
	set.IntVar(&o.machineConcurrency, "containermachine-concurrency", 10, "Maximum number of ContainerMachines to reconcile concurrently.")
	set.IntVar(&o.machinePoolConcurrency, "containermachinepool-concurrency", 10, "Maximum number of ContainerMachinePools to reconcile concurrently.")
	set.IntVar(&o.clusterCacheConcurrency, "clustercache-concurrency", 10, "Number of workload clusters to connect to concurrently.")
}

func (o *options) addEngineFlags(set *pflag.FlagSet) {
	set.StringVar(&o.engine.Engine, "engine", connect.Auto, connect.Help())
	set.StringSliceVar(&o.allowedEndpoints, endpoint.AllowedFlag, nil, "Endpoints that ContainerEngines may have: "+endpoint.PatternHelp+". Empty allows none.")
	o.metered.AddFlags(set)
	set.StringVar(&o.loadBalancerImage, "load-balancer-image", loadbalancer.DefaultImage, "Image of load balancers where a ContainerCluster names none; haproxy 2.6 or newer, with bash.")
	set.StringVar(&o.selfContainer, "self-container", "", "Name of the container on the same engine that this manager runs in; it is attached to the networks of clusters. Empty where it runs elsewhere.")
}

// unlimited is the value of a flag that limits nothing; 0 admits none.
const unlimited = -1

func (o *options) addLimitFlags(set *pflag.FlagSet) {
	set.Int32Var(&o.maxPersistentVolumes, "max-persistent-volumes", unlimited, "Maximum number of PersistentVolumes provisioned in each workload cluster; -1 is unlimited. A ContainerCluster can have a lower limit.")
	set.Int32Var(&o.maxLoadBalancers, "max-load-balancers", unlimited, "Maximum number of Services with a load balancer in each workload cluster; -1 is unlimited. A ContainerCluster can have a lower limit.")
	set.StringVar(&o.hostPortRange, "host-port-range", network.DefaultHostPorts().String(), "Range of ports on 127.0.0.1 of the engine's host that load balancers of Services publish, from 1024 to 65535. A ContainerCluster can have a part of it.")
}

// limits of each workload cluster.
func (o *options) limits() infrav1.Limits {
	return infrav1.Limits{
		PersistentVolumes: limit(o.maxPersistentVolumes), LoadBalancers: limit(o.maxLoadBalancers), HostPortRange: o.hostPortRange,
	}
}

func limit(value int32) *int32 {
	if value < 0 {
		return nil
	}
	return &value
}
