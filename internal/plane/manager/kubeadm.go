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

package manager

import (
	"context"
	"fmt"
	"maps"
	"time"

	"go.etcd.io/etcd/client/pkg/v3/logutil"
	"go.uber.org/zap/zapcore"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	addonsv1 "sigs.k8s.io/cluster-api/api/addons/v1beta2"
	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/reconcilers/kubeadmconfig"
	"sigs.k8s.io/cluster-api/controllers/crdmigrator"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/pkg/etcd"
	"sigs.k8s.io/cluster-api/controlplane/kubeadm/reconcilers/kubeadmcontrolplane"
	"sigs.k8s.io/cluster-api/feature"
)

const (
	// etcdDialTimeout is the default of the control plane provider.
	etcdDialTimeout = 10 * time.Second
	// controlPlaneTimeout of one reconcile is the control plane provider's:
	// it dials every etcd member, and the timeouts may add up.
	controlPlaneTimeout = 3 * time.Minute
)

// setupKubeadm sets up the kubeadm bootstrap and control plane providers.
func (p *provider) setupKubeadm(ctx context.Context) error {
	c, live := p.mgr.GetClient(), p.mgr.GetAPIReader()
	// The etcd client writes to stderr past the manager's logger; what it
	// says below a warning repeats the conditions.
	etcdLog, err := logutil.CreateDefaultZapLogger(zapcore.WarnLevel)
	if err != nil {
		return fmt.Errorf("create logger of the etcd client: %w", err)
	}
	options := p.concurrently(quick)
	options.ReconciliationTimeout = controlPlaneTimeout
	err = (&kubeadmcontrolplane.Reconciler{
		Client: c, APIReader: live, SecretCachingClient: p.secrets, ClusterCache: controlPlaneEvents{p.clusters},
		EtcdDialTimeout: etcdDialTimeout, EtcdCallTimeout: etcd.DefaultCallTimeout, EtcdLogger: etcdLog,
		RemoteConditionsGracePeriod: remoteConditionsGracePeriod, RuntimeClient: p.extensions,
	}).SetupWithManager(ctx, p.mgr, options)
	if err != nil {
		return fmt.Errorf("set up controller of KubeadmControlPlanes: %w", err)
	}
	return p.setupReconcilers(ctx, reconciler{&kubeadmconfig.Reconciler{
		Client: c, SecretCachingClient: p.secrets, APIReader: live, ClusterCache: p.clusters, TokenTTL: kubeadmconfig.DefaultTokenTTL,
	}, waiting})
}

// setupMigrator rewrites stored objects to the version a newer plane stores,
// for all CRDs of Cluster API and of further providers together.
func (p *provider) setupMigrator(ctx context.Context) error {
	plain := crdmigrator.ByObjectConfig{}
	status := crdmigrator.ByObjectConfig{UseStatusForStorageVersionMigration: true}
	objects := map[client.Object]crdmigrator.ByObjectConfig{
		&addonsv1.ClusterResourceSetBinding{}:         plain,
		&addonsv1.ClusterResourceSet{}:                status,
		&clusterv1.Cluster{}:                          status,
		&clusterv1.MachineDeployment{}:                status,
		&clusterv1.MachineDrainRule{}:                 plain,
		&clusterv1.MachineHealthCheck{}:               status,
		&clusterv1.Machine{}:                          status,
		&clusterv1.MachineSet{}:                       status,
		&ipamv1.IPAddress{}:                           plain,
		&ipamv1.IPAddressClaim{}:                      status,
		&bootstrapv1.KubeadmConfig{}:                  status,
		&bootstrapv1.KubeadmConfigTemplate{}:          plain,
		&controlplanev1.KubeadmControlPlane{}:         status,
		&controlplanev1.KubeadmControlPlaneTemplate{}: plain,
	}
	if feature.Gates.Enabled(feature.ClusterTopology) {
		objects[&clusterv1.ClusterClass{}] = status
	}
	if feature.Gates.Enabled(feature.RuntimeSDK) {
		objects[&runtimev1.ExtensionConfig{}] = status
	}
	if feature.Gates.Enabled(feature.MachinePool) {
		objects[&clusterv1.MachinePool{}] = status
	}
	maps.Copy(objects, p.opts.Migrations)
	err := (&crdmigrator.CRDMigrator{
		Client: p.mgr.GetClient(), APIReader: p.mgr.GetAPIReader(), Config: objects,
		// One at a time, as upstream: a migration writes every object.
	}).SetupWithManager(ctx, p.mgr, controller.Options{MaxConcurrentReconciles: 1})
	if err != nil {
		return fmt.Errorf("set up CRDMigrator controller: %w", err)
	}
	return nil
}
