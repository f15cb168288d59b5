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

package contract

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/contract/internal/environment"
)

// Manager says to a provider's manager where it runs.
type Manager = environment.Manager

// Provider is the provider to test. Exactly one of Command, Run and Kubeconfig says how it runs.
type Provider struct {
	// Name is the provider's in reports.
	Name string

	// Manifests are files and directories with the provider's CRDs and webhook configurations, whose
	// calls are redirected to the manager's process, and its ClusterRoles. A directory with a kustomization
	// is built; other objects are ignored.
	Manifests []string
	// Command starts the manager. ${KUBECONFIG}, ${WEBHOOK_PORT} and ${WEBHOOK_CERT_DIR} (of tls.crt and
	// tls.key) are replaced in it, and are in its environment too.
	Command []string
	// Environment of the command, as NAME=value, in addition to that of this process.
	Environment []string
	// Run runs the manager in this process until the context ends. Its controllers need
	// SkipNameValidation if tests run several.
	Run func(context.Context, Manager) error
	// Kubeconfig is the file of a cluster where the provider is deployed, together with Cluster API.
	Kubeconfig string

	Objects Objects
	// Infrastructure says what exists behind an object. Rules that need it do not apply without it.
	Infrastructure Infrastructure
	// Endpoint of the control plane, for a provider that does not supply one.
	Endpoint clusterv1.APIEndpoint
	// Bootstrap is the data of machines.
	Bootstrap Bootstrap
	// KubernetesVersion of machines; default v1.36.0.
	KubernetesVersion string

	// Exceptions are rules by ID that the provider is known to break, with the reason. A rule that is
	// listed and kept fails a test, so that the list stays true.
	Exceptions map[string]string
	Timing     Timing

	// roles are the ClusterRoles of the manifests.
	roles []rbacv1.ClusterRole
	// progress logs what has ended, for who waits for the result.
	progress func(format string, args ...any)
}

// Objects are examples of the provider's kinds: API version, kind, spec, and labels and annotations
// if the kind needs some. Names, namespaces and owners are set by the tests. MachineTemplate and one of
// Cluster and ClusterTemplate are required.
type Objects struct {
	Cluster, ClusterTemplate, Machine, MachineTemplate, MachinePool *unstructured.Unstructured
	// ExternalCluster is a cluster as another system would create and manage it; default Cluster.
	ExternalCluster *unstructured.Unstructured
	// MachineTemplateChange is another valid value of fields of the MachineTemplate's spec.template.spec;
	// default is a providerID.
	MachineTemplateChange map[string]any
}

// Bootstrap is the data of machines.
type Bootstrap struct {
	// Data; default is a cloud-config without any command.
	Data string `json:"data"`
	// Format is cloud-config by default.
	Format string `json:"format"`
}

// Infrastructure says what exists behind objects.
type Infrastructure interface {
	// Exists reports whether anything exists for the object, which may already be deleted.
	Exists(ctx context.Context, object *unstructured.Unstructured) (bool, error)
}

// Remover is an Infrastructure that can also remove what is behind an object, as an outage or a user
// would, without the provider.
type Remover interface {
	Remove(ctx context.Context, object *unstructured.Unstructured) error
}

// Timing of the tests.
type Timing struct {
	// Timeout of everything that is waited for; default 1 minute.
	Timeout time.Duration
	// Quiet is the time without a change after which nothing more is expected; default 2 seconds.
	Quiet time.Duration
}

var (
	errHowItRuns = errors.New("one of Command, Run and Kubeconfig must be set")
	errObjects   = errors.New("the Objects need a MachineTemplate, and a Cluster or a ClusterTemplate")
)

const (
	defaultTimeout = time.Minute
	defaultQuiet   = 2 * time.Second
	defaultVersion = "v1.36.0"
	defaultData    = "#cloud-config\n"
	defaultFormat  = "cloud-config"
)

// complete returns the provider with its defaults, or an error if something is missing.
func (p Provider) complete() (Provider, error) {
	ways := 0
	for _, set := range []bool{len(p.Command) > 0, p.Run != nil, p.Kubeconfig != ""} {
		if set {
			ways++
		}
	}
	if ways != 1 {
		return p, errHowItRuns
	}
	o := &p.Objects
	if o.MachineTemplate == nil || o.Cluster == nil && o.ClusterTemplate == nil {
		return p, errObjects
	}
	var err error
	if o.Machine == nil {
		if o.Machine, err = fromTemplate(o.MachineTemplate); err != nil {
			return p, err
		}
	}
	if o.Cluster == nil {
		if o.Cluster, err = fromTemplate(o.ClusterTemplate); err != nil {
			return p, err
		}
	}
	if o.ExternalCluster == nil {
		o.ExternalCluster = o.Cluster
	}
	setDefault(&p.Name, o.Machine.GetKind())
	setDefault(&p.KubernetesVersion, defaultVersion)
	setDefault(&p.Bootstrap.Data, defaultData)
	setDefault(&p.Bootstrap.Format, defaultFormat)
	setDefault(&p.Timing.Timeout, defaultTimeout)
	setDefault(&p.Timing.Quiet, defaultQuiet)
	return p, nil
}

func setDefault[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}

const templateSuffix = "Template"

// fromTemplate returns the object that Cluster API would create from a template.
func fromTemplate(template *unstructured.Unstructured) (*unstructured.Unstructured, error) {
	spec, _, err := unstructured.NestedMap(template.Object, "spec", "template", "spec")
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", template.GetKind(), err)
	}
	object := &unstructured.Unstructured{Object: map[string]any{"spec": spec}}
	object.SetGroupVersionKind(schema.FromAPIVersionAndKind(template.GetAPIVersion(), strings.TrimSuffix(template.GetKind(), templateSuffix)))
	return object, nil
}

// kinds of the provider, by the place that they have in Objects.
func (o Objects) kinds() map[string]schema.GroupVersionKind {
	kinds := map[string]schema.GroupVersionKind{}
	for name, object := range map[string]*unstructured.Unstructured{
		"InfraCluster": o.Cluster, "InfraClusterTemplate": o.ClusterTemplate, "InfraMachine": o.Machine,
		"InfraMachineTemplate": o.MachineTemplate, "InfraMachinePool": o.MachinePool,
	} {
		if object != nil {
			kinds[name] = object.GroupVersionKind()
		}
	}
	return kinds
}
