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

package main

import (
	"context"
	"fmt"
	"net/http"
	"time"

	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/controller-runtime/pkg/healthz"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// engineTimeout is how long an engine may take to answer a readiness check:
// less than a kubelet's default period between two of them.
const engineTimeout = 5 * time.Second

// engineChecker: a manager whose engine does not answer cannot do its work,
// and should not be waited for. It goes on living, since the engine may come
// back.
func engineChecker(eng engine.Host) healthz.Checker {
	return func(request *http.Request) error {
		ctx, cancel := context.WithTimeout(request.Context(), engineTimeout)
		defer cancel()
		if _, err := eng.Info(ctx); err != nil {
			return fmt.Errorf("ask the engine about itself: %w", err)
		}
		return nil
	}
}

func ping(*http.Request) error { return nil }

// clusterLabelSelector selects what belongs to a cluster.
func clusterLabelSelector() labels.Selector {
	requirement, err := labels.NewRequirement(clusterv1.ClusterNameLabel, selection.Exists, nil)
	if err != nil {
		// The key is a constant that is a valid label key.
		panic(err)
	}
	return labels.NewSelector().Add(*requirement)
}
