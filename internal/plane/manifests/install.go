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

package manifests

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"golang.org/x/sync/errgroup"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/metadata"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
)

const (
	// FieldManager applies what the plane installs.
	FieldManager = "capcon-plane"
	// hashAnnotation records what was installed, so that a start that has
	// nothing to change does not cost the API server a merge of every CRD.
	hashAnnotation = "capcon.cluster.x-k8s.io/manifest-hash"
	// parallel requests; the API server is next door, and two cores are
	// busy with four.
	parallel = 4
	// discoveryInterval between looks at the CRDs that are served.
	discoveryInterval = 25 * time.Millisecond
)

// resources by kind.
var resources = map[string]schema.GroupVersionResource{
	kindCRD:        {Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"},
	kindMutating:   {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "mutatingwebhookconfigurations"},
	kindValidating: {Group: "admissionregistration.k8s.io", Version: "v1", Resource: "validatingwebhookconfigurations"},
	kindNamespace:  {Version: "v1", Resource: "namespaces"},
	kindProvider:   {Group: "clusterctl.cluster.x-k8s.io", Version: "v1alpha3", Resource: "providers"},
}

// Install applies the objects and returns when every CRD is served. Objects
// that were installed before and are the same are left alone. It exchanges metadata only:
// CRDs have up to 220 kB, and the API server spends most of a plane's start on them.
func Install(ctx context.Context, config *rest.Config, objects []*unstructured.Unstructured) error {
	config = rest.CopyConfig(config)
	config.QPS = -1
	client, err := metadata.NewForConfig(config)
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	// A Provider needs its namespace and its CRD.
	isProvider := func(o *unstructured.Unstructured) bool { return o.GetKind() == kindProvider }
	first := slices.DeleteFunc(slices.Clone(objects), isProvider)
	providers := slices.DeleteFunc(slices.Clone(objects), func(o *unstructured.Unstructured) bool { return !isProvider(o) })
	if err := install(ctx, client, first); err != nil {
		return err
	}
	if err := awaitDiscovery(ctx, config, objects); err != nil {
		return fmt.Errorf("wait for the discovery of all CRDs: %w", err)
	}
	return install(ctx, client, providers)
}

func install(ctx context.Context, client metadata.Interface, objects []*unstructured.Unstructured) error {
	var together errgroup.Group
	together.SetLimit(parallel)
	for _, o := range objects {
		together.Go(func() error {
			resource := client.Resource(resources[o.GetKind()]).Namespace(o.GetNamespace())
			if err := apply(ctx, resource, o); err != nil {
				return fmt.Errorf("install %s %s: %w", o.GetKind(), o.GetName(), err)
			}
			return nil
		})
	}
	return together.Wait()
}

func apply(ctx context.Context, resource metadata.ResourceInterface, o *unstructured.Unstructured) error {
	content, err := json.Marshal(o)
	if err != nil {
		return err
	}
	sum := sha256.Sum256(content)
	hash := hex.EncodeToString(sum[:])
	installed, err := resource.Get(ctx, o.GetName(), metav1.GetOptions{})
	if err != nil && !apierrors.IsNotFound(err) {
		return err
	}
	// clusterctl changes Providers and keeps their annotations.
	if err == nil && installed.GetAnnotations()[hashAnnotation] == hash && o.GetKind() != kindProvider {
		return nil
	}
	o = o.DeepCopy()
	o.SetAnnotations(labels.Merge(o.GetAnnotations(), labels.Set{hashAnnotation: hash}))
	if content, err = json.Marshal(o); err != nil {
		return err
	}
	options := metav1.PatchOptions{FieldManager: FieldManager, Force: ptr.To(true)}
	_, err = resource.Patch(ctx, o.GetName(), types.ApplyPatchType, content, options)
	return err
}

// awaitDiscovery returns when clients find every version of the CRDs: the API server
// publishes one some time after the CRD is established.
func awaitDiscovery(ctx context.Context, config *rest.Config, objects []*unstructured.Unstructured) error {
	client, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	desired, err := servedResources(objects)
	if err != nil {
		return err
	}
	return wait.PollUntilContextCancel(ctx, discoveryInterval, true, func(context.Context) (bool, error) {
		// Groups that cannot be discovered are not these.
		_, lists, err := client.ServerGroupsAndResources()
		if err != nil && !discovery.IsGroupDiscoveryFailedError(err) {
			return false, err
		}
		served := sets.New[schema.GroupVersionResource]()
		for _, list := range lists {
			version, err := schema.ParseGroupVersion(list.GroupVersion)
			if err != nil {
				return false, fmt.Errorf("read discovery: %w", err)
			}
			for _, resource := range list.APIResources {
				served.Insert(version.WithResource(resource.Name))
			}
		}
		return served.HasAll(desired...), nil
	})
}

// servedResources are those of all CRDs, in each version that is served.
func servedResources(objects []*unstructured.Unstructured) ([]schema.GroupVersionResource, error) {
	var served []schema.GroupVersionResource
	for _, o := range objects {
		if o.GetKind() != kindCRD {
			continue
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(o.Object, crd); err != nil {
			return nil, fmt.Errorf("read CRD %s: %w", o.GetName(), err)
		}
		for _, version := range crd.Spec.Versions {
			if version.Served {
				served = append(served, schema.GroupVersionResource{Group: crd.Spec.Group, Version: version.Name, Resource: crd.Spec.Names.Plural})
			}
		}
	}
	return served, nil
}
