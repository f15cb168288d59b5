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
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestLease(t *testing.T) {
	t.Parallel()
	c := fake.NewClientBuilder().Build()
	start := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	for _, step := range []struct {
		reason, holder string
		renewed        time.Duration
		acquired       time.Duration
	}{
		{"The first renewal creates the Lease.", "first", 0, 0},
		{"A renewal does not acquire it again.", "first", time.Minute, 0},
		{"A manager that was restarted does.", "second", 2 * time.Minute, 2 * time.Minute},
	} {
		renewed := start.Add(step.renewed)
		must.Succeed(t, (&Heartbeat{Client: c, Version: "v1"}).renew(t.Context(), step.holder, renewed))
		lease := &coordinationv1.Lease{}
		must.Succeed(t, c.Get(t.Context(), client.ObjectKey{Namespace: LeaseNamespace, Name: LeaseName}, lease))
		if *lease.Spec.HolderIdentity != step.holder || !lease.Spec.AcquireTime.Time.Equal(start.Add(step.acquired)) {
			t.Errorf("%s\ngot %+v", step.reason, lease.Spec)
		}
		must.Succeed(t, checkLease(lease, renewed))
		if err := checkLease(lease, renewed.Add(LeaseDuration+time.Second)); !errors.Is(err, ErrControllers) {
			t.Errorf("checkLease(...) after LeaseDuration: want ErrControllers, got %v", err)
		}
	}
	if err := checkLease(&coordinationv1.Lease{}, time.Now()); !errors.Is(err, ErrControllers) {
		t.Errorf("checkLease(...) of one that was never renewed: want ErrControllers, got %v", err)
	}
}

func TestWaitAndCheck(t *testing.T) {
	t.Parallel()
	fresh := coordinationv1.LeaseSpec{RenewTime: &metav1.MicroTime{Time: time.Now()}}
	for name, tc := range map[string]struct {
		readyz, lease, cluster int
		spec                   coordinationv1.LeaseSpec
		want                   error
	}{
		"API server down":                     {readyz: http.StatusInternalServerError, want: ErrAPIServer},
		"manager never started":               {readyz: http.StatusOK, lease: http.StatusNotFound, want: ErrControllers},
		"manager gone":                        {readyz: http.StatusOK, lease: http.StatusOK, want: ErrControllers},
		"webhooks down":                       {http.StatusOK, http.StatusOK, http.StatusInternalServerError, fresh, ErrControllers},
		"API server, manager and webhooks up": {http.StatusOK, http.StatusOK, http.StatusOK, fresh, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			requests := 0
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				status := map[string]int{
					"/readyz": tc.readyz,
					"/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/capcon-plane":     tc.lease,
					"/apis/cluster.x-k8s.io/v1beta2/namespaces/default/clusters/capcon-readiness": tc.cluster,
				}[r.URL.Path]
				if requests++; requests == 1 {
					status = http.StatusServiceUnavailable
				}
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(status)
				_ = json.NewEncoder(w).Encode(&coordinationv1.Lease{
					TypeMeta: metav1.TypeMeta{APIVersion: "coordination.k8s.io/v1", Kind: "Lease"}, Spec: tc.spec,
				})
			}))
			defer server.Close()
			config := clientcmdapi.NewConfig()
			config.Clusters[""], config.Contexts[""] = &clientcmdapi.Cluster{Server: server.URL}, &clientcmdapi.Context{}
			kubeconfig := must.Get(clientcmd.Write(*config))(t)

			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			var missing []error
			err := Wait(ctx, kubeconfig, func(err error) {
				if missing = append(missing, err); len(missing) > 1 {
					cancel()
				}
			})
			if len(missing) == 0 || !errors.Is(missing[0], ErrAPIServer) {
				t.Errorf("missing first: %v, want the API server", missing)
			}
			if !errors.Is(err, tc.want) {
				t.Errorf("Wait(...): want error %v, got %v", tc.want, err)
			}
		})
	}
	if err := Check(t.Context(), []byte("no kubeconfig")); err == nil {
		t.Error("Check(...) accepts what is no kubeconfig")
	}
}
