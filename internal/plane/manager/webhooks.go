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

	ctrl "sigs.k8s.io/controller-runtime"

	bootstrapadmission "sigs.k8s.io/cluster-api/bootstrap/kubeadm/webhooks/admission"
	kubeadmadmission "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/admission"
	kubeadmconversion "sigs.k8s.io/cluster-api/controlplane/kubeadm/webhooks/conversion"
	coreadmission "sigs.k8s.io/cluster-api/core/webhooks/admission"
	coreconversion "sigs.k8s.io/cluster-api/core/webhooks/conversion"
)

// admission is what Cluster API's webhooks have in common.
type admission interface {
	SetupWebhookWithManager(mgr ctrl.Manager) error
}

// setupCoreWebhooks serves all of core's webhooks, those behind feature gates
// too: they are what refuses objects whose feature is off.
func (p *provider) setupCoreWebhooks(context.Context) error {
	// References of v1beta1 carry an API version, those of v1beta2 do not;
	// converting back asks which one is served.
	versions := apiVersions{reader: p.mgr.GetClient()}
	coreconversion.SetAPIVersionGetter(versions.get)
	kubeadmconversion.SetAPIVersionGetter(versions.get)

	c := p.mgr.GetClient()
	return p.setupWebhooks(
		&coreadmission.ClusterClass{Client: c},
		&coreadmission.Cluster{Client: c, ClusterCacheReader: p.clusters},
		&coreadmission.Machine{},
		&coreadmission.MachineSet{},
		&coreadmission.MachineDeployment{},
		&coreadmission.MachineDrainRule{},
		&coreadmission.MachinePool{},
		&coreadmission.ClusterResourceSet{},
		&coreadmission.ClusterResourceSetBinding{},
		&coreadmission.MachineHealthCheck{},
		&coreadmission.ExtensionConfig{},
		// Read live, to not cache every IPAddressClaim for a rare check.
		&coreadmission.IPAddress{Client: p.mgr.GetAPIReader()},
		&coreadmission.IPAddressClaim{},
	)
}

func (p *provider) setupKubeadmWebhooks(context.Context) error {
	return p.setupWebhooks(
		&bootstrapadmission.KubeadmConfig{},
		&bootstrapadmission.KubeadmConfigTemplate{},
		&kubeadmadmission.KubeadmControlPlane{},
		&kubeadmadmission.ScaleValidator{Client: p.mgr.GetClient()},
		&kubeadmadmission.KubeadmControlPlaneTemplate{},
	)
}

func (p *provider) setupWebhooks(webhooks ...admission) error {
	for _, w := range webhooks {
		if err := w.SetupWebhookWithManager(p.mgr); err != nil {
			return fmt.Errorf("set up webhook %T: %w", w, err)
		}
	}
	return nil
}
