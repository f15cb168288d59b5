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

package extensions

import (
	"context"
	"fmt"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/util/workqueue"
	"k8s.io/utils/ptr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/source"

	runtimev1 "sigs.k8s.io/cluster-api/api/runtime/v1beta2"
)

const (
	// managedByLabel marks an ExtensionConfig that the plane itself has created, with the value managedBy.
	managedByLabel = "app.kubernetes.io/managed-by"
	managedBy      = "capcon-plane"
	// removalInterval is the time after which a failed removal is tried again.
	removalInterval = 5 * time.Second
)

// Registration keeps the ExtensionConfig of an extension that the plane itself serves, also if a user changes or deletes it.
type Registration struct {
	Client client.Client
	// Config has the name and the spec. Other metadata is left alone.
	Config *runtimev1.ExtensionConfig
}

// SetupWithManager adds the controller, which needs no ExtensionConfig to begin.
func (r *Registration) SetupWithManager(mgr ctrl.Manager) error {
	request := ctrl.Request{NamespacedName: client.ObjectKeyFromObject(r.Config)}
	isOwn := predicate.NewPredicateFuncs(func(object client.Object) bool { return object.GetName() == request.Name })
	begin := source.Func(func(_ context.Context, queue workqueue.TypedRateLimitingInterface[ctrl.Request]) error {
		queue.Add(request)
		return nil
	})
	err := ctrl.NewControllerManagedBy(mgr).Named("extensionregistration").
		For(&runtimev1.ExtensionConfig{}, builder.WithPredicates(isOwn)).WatchesRawSource(begin).Complete(r)
	if err != nil {
		return fmt.Errorf("set up registration of extension %q: %w", r.Config.Name, err)
	}
	return nil
}

// Reconcile implements reconcile.Reconciler. Until the webhooks of ExtensionConfigs are served, it fails and is tried again.
func (r *Registration) Reconcile(ctx context.Context, _ ctrl.Request) (ctrl.Result, error) {
	config := &runtimev1.ExtensionConfig{ObjectMeta: metav1.ObjectMeta{Name: r.Config.Name}}
	result, err := controllerutil.CreateOrUpdate(ctx, r.Client, config, func() error {
		metav1.SetMetaDataLabel(&config.ObjectMeta, managedByLabel, managedBy)
		// The authority is in the spec, and in no Secret.
		delete(config.Annotations, runtimev1.InjectCAFromSecretAnnotation)
		r.Config.Spec.DeepCopyInto(&config.Spec)
		return nil
	})
	switch {
	case apierrors.IsConflict(err), apierrors.IsAlreadyExists(err):
		return ctrl.Result{RequeueAfter: time.Second}, nil // the cache is behind
	case err != nil:
		return ctrl.Result{}, fmt.Errorf("register extension %q: %w", r.Config.Name, err)
	case result != controllerutil.OperationResultNone:
		ctrl.LoggerFrom(ctx).Info("Registered extension of the management plane", "operation", result)
	}
	return ctrl.Result{}, nil
}

// RemoveRegistration has the manager delete the ExtensionConfig that a Registration of an earlier start left. One of that
// name that a user has created stays.
func RemoveRegistration(mgr ctrl.Manager, name string) error {
	remove := manager.RunnableFunc(func(ctx context.Context) error {
		// The end of the manager is no error.
		_ = wait.PollUntilContextCancel(ctx, removalInterval, true, func(ctx context.Context) (bool, error) {
			err := removeRegistration(ctx, mgr.GetAPIReader(), mgr.GetClient(), name)
			if err != nil {
				ctrl.LoggerFrom(ctx).Error(err, "Failed to remove extension of the management plane, trying again", "after", removalInterval)
			}
			return err == nil, nil
		})
		return nil
	})
	if err := mgr.Add(remove); err != nil {
		return fmt.Errorf("add removal of extension %q: %w", name, err)
	}
	return nil
}

func removeRegistration(ctx context.Context, live client.Reader, c client.Client, name string) error {
	config := &runtimev1.ExtensionConfig{}
	err := live.Get(ctx, client.ObjectKey{Name: name}, config)
	if err == nil && config.Labels[managedByLabel] == managedBy {
		err = c.Delete(ctx, config, client.Preconditions{UID: ptr.To(config.UID)})
	}
	if err := client.IgnoreNotFound(err); err != nil {
		return fmt.Errorf("remove extension %q: %w", name, err)
	}
	return nil
}
