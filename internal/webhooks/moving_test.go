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

package webhooks

import (
	"context"
	"errors"
	"testing"

	admissionv1 "k8s.io/api/admission/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

func TestMovingIsReportedBeforeTheObjectMayGo(t *testing.T) {
	t.Parallel()
	unable := errors.New("no space left")
	mark := map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""}
	deleting := metav1.Now()
	for name, tc := range map[string]struct {
		reason string
		after  metav1.ObjectMeta
		dryRun bool
		answer error
		calls  int
	}{
		"Marked":   {"Without the mark clusterctl deletes nothing.", metav1.ObjectMeta{Annotations: mark}, false, nil, 1},
		"Unable":   {"What is not recorded must not be moved.", metav1.ObjectMeta{Annotations: mark}, false, unable, 1},
		"Deleting": {"The mark counts there too.", metav1.ObjectMeta{Annotations: mark, DeletionTimestamp: &deleting}, false, nil, 1},
		"DryRun":   {"Nothing is stored.", metav1.ObjectMeta{Annotations: mark}, true, nil, 0},
		"Other":    {"Other changes say nothing.", metav1.ObjectMeta{}, false, nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var reported []string
			k := containerCluster(func(_ context.Context, cluster *infrav1.ContainerCluster) error {
				reported = append(reported, cluster.Spec.OwnerID)
				return tc.answer
			})
			before := &infrav1.ContainerCluster{Spec: infrav1.ContainerClusterSpec{OwnerID: "abc"}}
			defaultCluster(before)
			after := before.DeepCopy()
			after.ObjectMeta = tc.after
			ctx := admission.NewContextWithRequest(t.Context(), admission.Request{AdmissionRequest: admissionv1.AdmissionRequest{DryRun: ptr.To(tc.dryRun)}})
			_, err := k.ValidateUpdate(ctx, before, after)
			if (err != nil) != (tc.answer != nil) || len(reported) != tc.calls || tc.calls > 0 && reported[0] != "abc" {
				t.Errorf("%s reported %v, error %v", tc.reason, reported, err)
			}
		})
	}
}
