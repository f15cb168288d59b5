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
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	featuretesting "k8s.io/component-base/featuregate/testing"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"sigs.k8s.io/cluster-api/feature"
)

func TestServedVersion(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		labels map[string]string
		want   string
		err    error
	}{
		"One": {
			reason: "The label names the version.",
			labels: map[string]string{"cluster.x-k8s.io/v1beta2": "v1alpha1"},
			want:   "v1alpha1",
		},
		"Several": {
			reason: "The most stable and newest version is chosen, not the last in the text.",
			labels: map[string]string{"cluster.x-k8s.io/v1beta2": "v1_v2beta1_v10alpha1"},
			want:   "v1",
		},
		"NewestContract": {
			reason: "The newest contract counts.",
			labels: map[string]string{"cluster.x-k8s.io/v1beta1": "v1beta3", "cluster.x-k8s.io/v1beta2": "v1beta1"},
			want:   "v1beta1",
		},
		"OlderContract": {
			reason: "A provider of the older contract is served too.",
			labels: map[string]string{"cluster.x-k8s.io/v1beta1": "v1beta1"},
			want:   "v1beta1",
		},
		"None": {
			reason: "A CRD without a contract is an error.",
			labels: map[string]string{"cluster.x-k8s.io/v1alpha4": "v1alpha4"},
			err:    errNoContract,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := servedVersion(tc.labels)
			if !errors.Is(err, tc.err) {
				t.Fatalf("\n%s\nservedVersion(...): want error %v, got %v", tc.reason, tc.err, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("\n%s\nservedVersion(...): -want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestCachedSecrets: the control plane provider reads the authorities of
// clusters from this cache, core the kubeconfigs.
func TestCachedSecrets(t *testing.T) {
	t.Parallel()
	for name, kept := range map[string]bool{
		"a-kubeconfig": true, "a-ca": true, "a-etcd": true, "a-sa": true, "a-proxy": true, "a-bootstrap-data": false,
	} {
		in := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string][]byte{"value": []byte("secret")}}
		if _, err := dropOtherSecretData(in); err != nil {
			t.Fatalf("dropOtherSecretData(%s): %v", name, err)
		}
		if got := in.Data != nil; got != kept {
			t.Errorf("data of %s kept: want %t, got %t", name, kept, got)
		}
	}
}

func TestSchemeKnowsOldVersions(t *testing.T) {
	t.Parallel()
	scheme, err := newScheme(nil)
	if err != nil {
		t.Fatalf("newScheme(...): %v", err)
	}
	for _, kind := range []schema.GroupVersionKind{
		{Group: "cluster.x-k8s.io", Version: "v1beta1", Kind: "Cluster"},
		{Group: "cluster.x-k8s.io", Version: "v1beta2", Kind: "Cluster"},
		{Group: "bootstrap.cluster.x-k8s.io", Version: "v1beta1", Kind: "KubeadmConfig"},
		{Group: "controlplane.cluster.x-k8s.io", Version: "v1beta1", Kind: "KubeadmControlPlane"},
		{Group: "apiextensions.k8s.io", Version: "v1", Kind: "CustomResourceDefinition"},
	} {
		if !scheme.Recognizes(kind) {
			t.Errorf("scheme does not know %s", kind)
		}
	}
}

// Not parallel: feature gates are the process's.
func TestFeatures(t *testing.T) {
	for name, tc := range map[string]struct {
		reason          string
		runtime, update bool
		err             error
	}{
		"Default":    {reason: "Cluster API's defaults."},
		"Extensions": {reason: "Hooks of clusters need no in-place updates.", runtime: true},
		"Both":       {reason: "Extensions update in place.", runtime: true, update: true},
		"Updates":    {reason: "There would be no client that asks extensions.", update: true, err: ErrFeatures},
	} {
		t.Run(name, func(t *testing.T) {
			featuretesting.SetFeatureGateDuringTest(t, feature.Gates, feature.RuntimeSDK, tc.runtime)
			featuretesting.SetFeatureGateDuringTest(t, feature.Gates, feature.InPlaceUpdates, tc.update)
			if err := checkFeatures(); !errors.Is(err, tc.err) {
				t.Errorf("\n%s\ncheckFeatures(): want error %v, got %v", tc.reason, tc.err, err)
			}
		})
	}
}

// readyourwrites reads JSON only.
func TestRestConfig(t *testing.T) {
	t.Parallel()
	given := &rest.Config{Host: "http://127.0.0.1:1"}
	if config := restConfig(given); config.Host != given.Host || config.ContentType != "application/json" {
		t.Errorf("the manager asks %s for %s", config.Host, config.ContentType)
	}
	if given.ContentType != "" {
		t.Error("the given configuration is changed")
	}
}

// TestRetries: a reconcile that keeps failing does not flood the API server, and a later
// success is not waited for.
func TestRetries(t *testing.T) {
	t.Parallel()
	limiter := (&provider{opts: Options{Concurrency: 1}}).concurrently(quick).RateLimiter
	request, attempts, elapsed := reconcile.Request{}, 0, time.Duration(0)
	for elapsed < time.Minute {
		delay := limiter.When(request)
		if attempts++; delay > lastRetry {
			t.Errorf("attempt %d waits %s, want at most %s", attempts, delay, lastRetry)
		}
		elapsed += delay
	}
	// 100 ms doubles seven times, to 12.7 s in all; the rest is one each 10 s.
	if want := 12; attempts != want {
		t.Errorf("%d attempts in a minute, want %d", attempts, want)
	}
	limiter.Forget(request)
	if delay := limiter.When(request); delay != firstRetry {
		t.Errorf("after a success, the next retry waits %s, want %s", delay, firstRetry)
	}
}
