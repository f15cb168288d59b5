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

package cluster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util/secret"

	"github.com/capi-samples/cluster-api-provider-container/controllers/phase"
)

// hostKubeconfigSuffix follows the cluster's name in the name of the Secret
// that holds the kubeconfig for use on the engine's host. It is not one of
// the purposes that Cluster API knows, and so left alone by it.
const hostKubeconfigSuffix = "kubeconfig-host"

// publishKubeconfig derives a kubeconfig that works on the engine's host from
// the one that works on the cluster's network, and follows its rotation.
func (r *Reconciler) publishKubeconfig(ctx context.Context, s *scope) error {
	hostPort := s.containerCluster.Spec.LoadBalancer.HostPort
	if !s.hasLoadBalancer() || hostPort == 0 {
		return nil
	}
	source := &corev1.Secret{}
	key := client.ObjectKey{Namespace: s.cluster.Namespace, Name: secret.Name(s.cluster.Name, secret.Kubeconfig)}
	if err := r.Client.Get(ctx, key, source); err != nil {
		if apierrors.IsNotFound(err) {
			// The control plane has not written it yet; that will be an event.
			return nil
		}
		return fmt.Errorf("get kubeconfig Secret: %w", err)
	}
	derived, err := hostKubeconfig(source.Data[secret.KubeconfigDataName], s.containerCluster.Spec.ControlPlaneEndpoint.Host, hostPort)
	if err != nil {
		return fmt.Errorf("derive kubeconfig for the host: %w", err)
	}
	target := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{
		Namespace: s.cluster.Namespace,
		Name:      s.cluster.Name + "-" + hostKubeconfigSuffix,
	}}
	_, err = controllerutil.CreateOrPatch(ctx, r.Client, target, func() error {
		if isOurs, err := s.owns(target, r.Client.Scheme()); err != nil || !isOurs {
			return cmp.Or(err, errForeignSecret)
		}
		if target.Labels == nil {
			target.Labels = map[string]string{}
		}
		target.Labels[clusterv1.ClusterNameLabel] = s.cluster.Name
		target.Type = clusterv1.ClusterSecretType
		target.Data = map[string][]byte{secret.KubeconfigDataName: derived}
		return controllerutil.SetOwnerReference(s.containerCluster, target, r.Client.Scheme())
	})
	if errors.Is(err, errForeignSecret) {
		r.Events.Eventf(s.containerCluster, nil, corev1.EventTypeWarning, "KubeconfigRefused", "Write",
			"There is no kubeconfig for the host: Secret %s %v", target.Name, errForeignSecret)
		// Nobody tells when it goes.
		s.reported = append(s.reported, phase.Wait(lookAgain))
		return nil
	}
	return wrap(err, "write kubeconfig Secret for the host")
}

var errForeignSecret = errors.New("exists and does not belong to this cluster: remove or rename it")

// owns reports whether the cluster may write a Secret: a new one, and one that
// still has a mark of those that publishKubeconfig leaves.
func (s *scope) owns(secret *corev1.Secret, scheme *runtime.Scheme) (bool, error) {
	if secret.ResourceVersion == "" || secret.Labels[clusterv1.ClusterNameLabel] == s.cluster.Name {
		return true, nil
	}
	isOwner, err := controllerutil.HasOwnerReference(secret.OwnerReferences, s.containerCluster, scheme)
	if err != nil {
		return false, fmt.Errorf("compare owner: %w", err)
	}
	return isOwner, nil
}

// hostKubeconfig points every cluster of a kubeconfig at the published port.
// The API server's certificate names the endpoint, not 127.0.0.1, so the
// client is told which name to expect; certificates are never changed for it.
func hostKubeconfig(data []byte, endpointHost string, hostPort int32) ([]byte, error) {
	config, err := clientcmd.Load(data)
	if err != nil {
		return nil, fmt.Errorf("parse kubeconfig: %w", err)
	}
	for _, each := range config.Clusters {
		each.Server = "https://" + net.JoinHostPort("127.0.0.1", strconv.Itoa(int(hostPort)))
		each.TLSServerName = endpointHost
	}
	out, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("write kubeconfig: %w", err)
	}
	return out, nil
}

// kubeconfigCluster returns the name of the cluster whose kubeconfig a Secret
// is, of the two there are; empty for any other Secret.
func kubeconfigCluster(object client.Object) string {
	name, isDerived := strings.CutSuffix(object.GetName(), "-"+hostKubeconfigSuffix)
	if !isDerived {
		parsed, purpose, err := secret.ParseSecretName(object.GetName())
		if err != nil || purpose != secret.Kubeconfig {
			return ""
		}
		name = parsed
	}
	if object.GetLabels()[clusterv1.ClusterNameLabel] != name {
		return ""
	}
	return name
}
