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

package readiness

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
)

func TestLease(t *testing.T) {
	t.Parallel()
	c := fake.NewClientBuilder().Build()
	began := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	get := func() *coordinationv1.Lease {
		t.Helper()
		lease := &coordinationv1.Lease{}
		if err := c.Get(t.Context(), client.ObjectKey{Namespace: LeaseNamespace, Name: LeaseName}, lease); err != nil {
			t.Fatalf("get lease: %v", err)
		}
		return lease
	}
	renew := func(holder string, now time.Time) {
		t.Helper()
		if err := (&Heartbeat{Reader: c, Writer: c, Version: "v1"}).renew(t.Context(), holder, now); err != nil {
			t.Fatalf("renew(%s): %v", holder, err)
		}
	}
	check := func(now, since time.Time, want error) {
		t.Helper()
		state, err := fromLease(get(), now)
		if !errors.Is(err, want) {
			t.Fatalf("fromLease(...) at %s: want error %v, got %v", now, want, err)
		}
		if want != nil {
			return
		}
		if diff := cmp.Diff(State{Version: "v1", Since: since}, state); diff != "" {
			t.Errorf("fromLease(...) at %s: -want, +got:\n%s", now, diff)
		}
	}

	renew("first", began)
	check(began, began, nil)
	check(began.Add(LeaseDuration+time.Second), began, ErrControllers)
	later := began.Add(time.Minute)
	renew("first", later)
	check(later, began, nil)
	restarted := began.Add(2 * time.Minute)
	renew("second", restarted)
	check(restarted, restarted, nil)
	if diff := cmp.Diff("second", ptr.Deref(get().Spec.HolderIdentity, "")); diff != "" {
		t.Errorf("holder: -want, +got:\n%s", diff)
	}
}

func TestLeaseThatWasNeverRenewed(t *testing.T) {
	t.Parallel()
	if _, err := fromLease(&coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: LeaseName}}, time.Now()); !errors.Is(err, ErrControllers) {
		t.Errorf("fromLease(...): want ErrControllers, got %v", err)
	}
}
