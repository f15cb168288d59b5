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
	"context"
	"fmt"
	"net"
	"slices"
	"strconv"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	applycorev1 "k8s.io/client-go/applyconfigurations/core/v1"
	coreclient "k8s.io/client-go/kubernetes/typed/core/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"

	"github.com/capi-samples/cluster-api-provider-container/internal/plane/manifests"
)

// publishClusterInfo applies the ConfigMap kube-public/cluster-info, as kubeadm
// does on other management clusters: nodes that report to the management cluster
// read the address of its API server there. It is applied at each start, as the
// engine may give the container another address.
func (id *identity) publishClusterInfo(ctx context.Context, config *rest.Config) error {
	core, err := coreclient.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	info, err := id.clusterInfo()
	if err != nil {
		return err
	}
	// The API server creates its namespaces some time after it is ready.
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: metav1.NamespacePublic}}
	if _, err := core.Namespaces().Create(ctx, namespace, metav1.CreateOptions{}); err != nil && !apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("create namespace %s: %w", namespace.Name, err)
	}
	options := metav1.ApplyOptions{FieldManager: manifests.FieldManager, Force: true}
	if _, err := core.ConfigMaps(namespace.Name).Apply(ctx, info, options); err != nil {
		return fmt.Errorf("apply ConfigMap %s/%s: %w", namespace.Name, bootstrapapi.ConfigMapClusterInfo, err)
	}
	return nil
}

// clusterInfo has the fields of the one that kubeadm writes: a kubeconfig with one
// cluster without a name, and no user.
func (id *identity) clusterInfo() (*applycorev1.ConfigMapApplyConfiguration, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[""] = &clientcmdapi.Cluster{Server: id.networkURL(), CertificateAuthorityData: id.api.CertificatePEM()}
	kubeconfig, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encode kubeconfig: %w", err)
	}
	return applycorev1.ConfigMap(bootstrapapi.ConfigMapClusterInfo, metav1.NamespacePublic).
		WithData(map[string]string{bootstrapapi.KubeConfigKey: string(kubeconfig)}), nil
}

// networkURL is the API server as containers of the same network reach it: at the
// address it listens on or, where that is every address, at the first one of this
// host that is not loopback, if it has one. The certificate has all of them.
func (id *identity) networkURL() string {
	address := net.ParseIP(id.opts.APIAddress)
	if address.IsUnspecified() {
		others := slices.DeleteFunc(slices.Clone(id.addresses), net.IP.IsLoopback)
		address = append(others, id.addresses...)[0]
	}
	return "https://" + net.JoinHostPort(address.String(), strconv.Itoa(id.opts.Ports.API))
}
