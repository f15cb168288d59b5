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

package serviceloadbalancer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/cloud-provider/service/helpers"
	"k8s.io/utils/ptr"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
)

// Drain removes the load balancers of all Services of a workload cluster that provides none
// any more, once Run has returned: the finalizer and the status of each Service, then its
// container. Without it the finalizer would keep Services and their namespaces forever.
//
// It is idempotent, and continues where an earlier call ended. Call it when load balancers
// are switched off and until it succeeds, not later: a Service without loadBalancerClass and
// address then belongs to another implementation.
func Drain(ctx context.Context, config *rest.Config, containers engine.Containers, owner identity.Owner) error {
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create client of the workload cluster: %w", err)
	}
	return drain(ctx, client, containers, owner)
}

func drain(ctx context.Context, client kubernetes.Interface, containers engine.Containers, owner identity.Owner) error {
	balanced, err := listContainers(ctx, containers, owner)
	if err != nil {
		return err
	}
	services, err := client.CoreV1().Services(metav1.NamespaceAll).List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list Services: %w", err)
	}
	// A container is the record that its Service is to be released: it is removed last.
	var errs []error
	kept := map[string]bool{}
	for i := range services.Items {
		service := &services.Items[i]
		if err := release(client, service, balanced[string(service.UID)].Name != ""); err != nil {
			errs = append(errs, err)
			kept[string(service.UID)] = true
		}
	}
	for uid, container := range balanced {
		if kept[uid] {
			continue
		}
		errs = append(errs, loadbalancer.Delete(ctx, containers, loadbalancer.Spec{Owner: owner, Service: serviceOf(container.Labels)}))
	}
	return errors.Join(errs...)
}

// listContainers returns the load balancers of a cluster's Services by the Service's UID.
func listContainers(ctx context.Context, containers engine.ContainerReader, owner identity.Owner) (map[string]engine.Container, error) {
	list, err := containers.ListContainers(ctx, owner.Select(map[string]string{
		identity.LabelRole: string(identity.RoleServiceLoadBalancer),
	}))
	if err != nil {
		return nil, fmt.Errorf("list load balancers of Services: %w", err)
	}
	byService := make(map[string]engine.Container, len(list))
	for _, container := range list {
		byService[container.Labels[identity.LabelServiceUID]] = container
	}
	return byService, nil
}

// serviceOf is the Service that a container with these labels was created for.
func serviceOf(labels map[string]string) loadbalancer.Service {
	namespace, name, _ := strings.Cut(labels[identity.LabelService], "/")
	return loadbalancer.Service{Namespace: namespace, Name: name, UID: labels[identity.LabelServiceUID]}
}

// release removes from a Service what was written for its load balancer. hasContainer says
// that there is one.
func release(client kubernetes.Interface, service *corev1.Service, hasContainer bool) error {
	_, annotated := service.Annotations[HostPortsAnnotation]
	served := hasContainer || annotated
	ingress := service.Status.LoadBalancer.Ingress
	released := service.DeepCopy()
	delete(released.Annotations, HostPortsAnnotation)
	if served && slices.ContainsFunc(ingress, isProxy) {
		released.Status.LoadBalancer = corev1.LoadBalancerStatus{}
	}
	// Without an address it is pending here, unless a class leaves it to others.
	if served || len(ingress) == 0 && service.Spec.LoadBalancerClass == nil {
		released.Finalizers = slices.DeleteFunc(released.Finalizers, func(finalizer string) bool {
			return finalizer == helpers.LoadBalancerCleanupFinalizer
		})
	}
	if !annotated && len(released.Finalizers) == len(service.Finalizers) && len(released.Status.LoadBalancer.Ingress) == len(ingress) {
		return nil
	}
	// One patch: what says that the Service is to be released ends with the rest.
	_, err := helpers.PatchService(client.CoreV1(), service, released) // it takes no context
	if err != nil && !apierrors.IsNotFound(err) {
		return fmt.Errorf("release Service %s/%s: %w", service.Namespace, service.Name, err)
	}
	return nil
}

// isProxy reports whether an address is of the kind that this provider writes. Others that
// assign addresses within the cluster write VIP, or nothing.
func isProxy(ingress corev1.LoadBalancerIngress) bool {
	return ptr.Deref(ingress.IPMode, corev1.LoadBalancerIPModeVIP) == corev1.LoadBalancerIPModeProxy
}
