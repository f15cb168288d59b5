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
	"io"
	"io/fs"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"

	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// DefaultLifetime of certificates: a plane is restarted, and so renews, far
// more often, and while it runs it renews in time.
const DefaultLifetime = 365 * 24 * time.Hour

// Ports that the processes listen on.
type Ports struct {
	// API is the API server's, the only one reached from outside.
	API int
	// The others listen on 127.0.0.1 only.
	EtcdClient, EtcdPeer, ControllerManager, Webhook, Health int
}

// DefaultPorts are each component's usual ones.
func DefaultPorts() Ports {
	return Ports{API: 6443, EtcdClient: 2379, EtcdPeer: 2380, ControllerManager: 10257, Webhook: 9443, Health: 9440}
}

// Options of a daemon. All are required, except where it says otherwise.
type Options struct {
	// StateDir holds everything that outlives the daemon.
	StateDir string
	// Binaries is the directory of etcd, kube-apiserver and
	// kube-controller-manager.
	Binaries string
	// Manager is the command line that runs the manager; the daemon adds
	// --kubeconfig, --webhook-port, --webhook-cert-dir and --health-address.
	Manager []string

	// FeatureGates of Cluster API, such as "A=true,B=false", for this start and those after it.
	// Empty: those of the last start that had some.
	FeatureGates string
	// AllowedEngines are endpoints that ContainerEngines may have, kept like the feature gates;
	// plane.NoEngines allows none.
	AllowedEngines string

	// APIAddress is the address the API server listens on: the host, through the
	// engine's published port, and nodes reach it.
	APIAddress string
	Ports      Ports
	// PublicURL is the server in the kubeconfig for the host. Default
	// https://127.0.0.1:<API port>.
	PublicURL string

	// Lifetime of certificates.
	Lifetime time.Duration

	// LivenessPeriod of the processes; see supervise.Options. Has a default there.
	LivenessPeriod time.Duration

	// Manifests are CRDs and webhook configurations to install alongside
	// Cluster API's.
	Manifests []fs.FS

	// Output gets the lines of the processes, Log what the daemon does.
	Output io.Writer
	Log    logr.Logger
}

// layout names the files of the state directory.
type layout string

func (l layout) path(name string) string { return filepath.Join(string(l), name) }

func (l layout) lock() string              { return l.path("lock") }
func (l layout) retired() string           { return l.path(plane.RetiredFile) }
func (l layout) control() string           { return l.path(plane.ControlSocket) }
func (l layout) etcdData() string          { return l.path("etcd") }
func (l layout) pki() string               { return l.path("pki") }
func (l layout) apiServer() string         { return l.path("pki/apiserver.pem") }
func (l layout) etcdServer() string        { return l.path("pki/etcd-server.pem") }
func (l layout) etcdClient() string        { return l.path("pki/etcd-client.pem") }
func (l layout) controllerManager() string { return l.path("pki/controller-manager.pem") }
func (l layout) webhooks() string          { return l.path("pki/webhooks") }
func (l layout) webhook() string           { return l.path("pki/webhooks/tls.pem") }
func (l layout) serviceAccountKey() string { return l.path("pki/service-account.pem") }
func (l layout) featureGates() string      { return l.path("feature-gates") }
func (l layout) allowedEngines() string    { return l.path("allowed-engine-endpoints") }
func (l layout) tokens() string            { return l.path("pki/tokens.csv") }
func (l layout) adminKubeconfig() string   { return l.path(plane.AdminKubeconfig) }

func (l layout) kubeconfig(user string) string { return l.path(user + ".kubeconfig") }
