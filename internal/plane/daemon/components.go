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

package daemon

import (
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/supervise"
)

// The names of the processes.
const (
	processEtcd              = "etcd"
	processAPIServer         = "kube-apiserver"
	processControllerManager = "kube-controller-manager"
	processManager           = "manager"
)

// smallHeap is for programs with some 25 MB in use that allocate little, which can afford
// to collect garbage more often than Go does by default.
const smallHeap = "GOGC=25"

func loopback(port int) string { return net.JoinHostPort("127.0.0.1", strconv.Itoa(port)) }

// flags of a component, each "--name=value".
func flags(pairs ...string) []string {
	args := make([]string, 0, len(pairs)/2)
	for i := 0; i+1 < len(pairs); i += 2 {
		args = append(args, "--"+pairs[i]+"="+pairs[i+1])
	}
	return args
}

// etcd keeps the default of syncing every write to disk: the plane's state is
// the only record of the users' clusters.
func (id *identity) etcdProcess() supervise.Process {
	client := "https://" + loopback(id.opts.Ports.EtcdClient)
	peer := "https://" + loopback(id.opts.Ports.EtcdPeer)
	pair, ca := id.files.etcdServer(), id.etcd.Path()
	return supervise.Process{
		Name: processEtcd,
		Path: filepath.Join(id.opts.Binaries, "etcd"),
		Args: flags(
			"name", "plane",
			"data-dir", id.files.etcdData(),
			"listen-client-urls", client,
			"advertise-client-urls", client,
			"listen-peer-urls", peer,
			"initial-advertise-peer-urls", peer,
			"initial-cluster", "plane="+peer,
			"client-cert-auth", "true",
			"cert-file", pair, "key-file", pair, "trusted-ca-file", ca,
			"peer-client-cert-auth", "true",
			"peer-cert-file", pair, "peer-key-file", pair, "peer-trusted-ca-file", ca,
			// A single member has no leader to hear from and elects itself as soon
			// as it may.
			"heartbeat-interval", "50", "election-timeout", "250",
			// The log of writes is kept in memory for members that are behind, of which
			// there are none. By default these are 10000 writes and then 5000, of some
			// kilobytes each.
			"snapshot-count", "1000", "snapshot-catchup-entries", "100",
			"log-level", "warn",
		),
		Environment: []string{smallHeap},
		Ready:       id.etcdReady,
	}
}

// admissionOff are the default plugins for Pods, Nodes and volumes, which the
// plane has none of. What stays: the life cycle of namespaces, webhooks,
// policies and quotas.
const admissionOff = "CertificateApproval,CertificateSigning,CertificateSubjectRestriction,ClusterTrustBundleAttest," +
	"DefaultIngressClass,DefaultStorageClass,DefaultTolerationSeconds,LimitRanger,PersistentVolumeClaimResize," +
	"PodSecurity,PodTopologyLabels,Priority,RuntimeClass,ServiceAccount,StorageObjectInUseProtection,TaintNodesByCondition"

// apisOff are kinds that only matter where Pods run. The others stay for what
// users and clusterctl may ask for.
const apisOff = "autoscaling/v1=false,autoscaling/v2=false,batch/v1=false,certificates.k8s.io/v1=false," +
	"flowcontrol.apiserver.k8s.io/v1=false,node.k8s.io/v1=false,policy/v1=false,resource.k8s.io/v1=false,storage.k8s.io/v1=false"

func (id *identity) apiServerProcess() supervise.Process {
	files := id.files
	return supervise.Process{
		Name: processAPIServer,
		Path: filepath.Join(id.opts.Binaries, "kube-apiserver"),
		Args: flags(
			"bind-address", id.opts.APIAddress,
			"secure-port", strconv.Itoa(id.opts.Ports.API),
			// There are no Services, so no client needs the endpoint of the
			// API server, which moves when the container does.
			"advertise-address", "127.0.0.1",
			"endpoint-reconciler-type", "none",
			"service-cluster-ip-range", "10.0.0.0/24",
			"etcd-servers", "https://"+loopback(id.opts.Ports.EtcdClient),
			"etcd-cafile", id.etcd.Path(),
			"etcd-certfile", files.etcdClient(), "etcd-keyfile", files.etcdClient(),
			"tls-cert-file", files.apiServer(), "tls-private-key-file", files.apiServer(),
			"token-auth-file", files.tokens(),
			"anonymous-auth", "false",
			"authorization-mode", "RBAC",
			"service-account-issuer", "https://kubernetes.default.svc.cluster.local",
			"service-account-key-file", files.serviceAccountKey(),
			"service-account-signing-key-file", files.serviceAccountKey(),
			"disable-admission-plugins", admissionOff,
			// All of the plane's own clients are of system:masters, which no
			// limit holds back, and what does not authenticate is refused
			// before any queue: docs/adr/0007-plane-on-the-network.md.
			"enable-priority-and-fairness", "false",
			"runtime-config", apisOff,
			// It would keep each object and its changes once for each served version,
			// converted by a webhook call for each change.
			"watch-cache", "false",
			"profiling", "false",
		),
		// Ready for CRDs comes more than a second before /readyz, which
		// waits for the default roles.
		Ready: id.apiServing,
		// It lets requests end, watches among them.
		StopGrace: 15 * time.Second,
	}
}

func (id *identity) controllerManagerProcess() supervise.Process {
	pair := id.files.controllerManager()
	return supervise.Process{
		Name: processControllerManager,
		Path: filepath.Join(id.opts.Binaries, "kube-controller-manager"),
		Args: flags(
			"kubeconfig", id.files.kubeconfig(userControllerManager),
			"controllers", "garbage-collector-controller,namespace-controller",
			"leader-elect", "false",
			"bind-address", "127.0.0.1",
			"secure-port", strconv.Itoa(id.opts.Ports.ControllerManager),
			"tls-cert-file", pair, "tls-private-key-file", pair,
			"authentication-skip-lookup", "true",
			"profiling", "false",
		),
		Ready: id.controllerManagerReady,
	}
}

func (id *identity) managerProcess() supervise.Process {
	args := slices.Clone(id.opts.Manager[1:])
	if id.opts.FeatureGates != "" {
		args = append(args, flags("feature-gates", id.opts.FeatureGates)...)
	}
	if allowed := id.opts.AllowedEngines; allowed != "" && allowed != plane.NoEngines {
		args = append(args, flags(endpoint.AllowedFlag, allowed)...)
	}
	return supervise.Process{
		Name: processManager,
		Path: id.opts.Manager[0],
		Args: append(args, flags(
			"kubeconfig", id.files.kubeconfig(userManager),
			"webhook-port", strconv.Itoa(id.opts.Ports.Webhook),
			"webhook-cert-dir", id.files.webhooks(),
			"webhook-cert-name", filepath.Base(id.files.webhook()),
			"health-address", loopback(id.opts.Ports.Health),
		)...),
		Environment: os.Environ(),
		Ready:       id.managerReady,
	}
}

func (id *identity) webhookURL() string {
	return "https://" + loopback(id.opts.Ports.Webhook)
}
