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

package identity

import (
	"maps"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestOwns(t *testing.T) {
	t.Parallel()
	owner := Owner{Namespace: "default", Cluster: "demo", ID: "one"}
	without := func(key string) map[string]string {
		labels := owner.ContainerLabels(RoleWorker, "demo-0")
		delete(labels, key)
		return labels
	}
	with := func(key, value string) map[string]string {
		labels := maps.Clone(owner.Labels())
		labels[key] = value
		return labels
	}
	cases := map[string]struct {
		reason string
		owner  Owner
		labels map[string]string
		want   bool
	}{
		"Own":             {"Further labels do not matter.", owner, owner.ContainerLabels(RoleWorker, "demo-0"), true},
		"OtherNamespace":  {"Clusters of one name live in two namespaces.", owner, with(LabelNamespace, "other"), false},
		"OtherCluster":    {"Another cluster's.", owner, with(LabelCluster, "other"), false},
		"OtherManagement": {"Two management clusters share an engine.", owner, with(LabelOwnerID, "two"), false},
		"NoNamespace":     {"Every label counts.", owner, without(LabelNamespace), false},
		"NoOwnerID":       {"Every label counts.", owner, without(LabelOwnerID), false},
		"None":            {"A container of a user.", owner, nil, false},
		"NoOwnerNoLabels": {"An owner without an ID yet must not own what has none.", Owner{}, nil, false},
		"IncompleteOwner": {
			"An owner without an ID yet owns nothing.", Owner{Namespace: "default", Cluster: "demo"}, without(LabelOwnerID), false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.owner.Owns(tc.labels); got != tc.want {
				t.Errorf("%s\nOwns = %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

func TestMayOwn(t *testing.T) {
	t.Parallel()
	whole := Owner{Namespace: "default", Cluster: "demo", ID: "one"}
	labels := whole.Labels()
	cases := map[string]struct {
		reason string
		owner  Owner
		labels map[string]string
		want   bool
	}{
		"Own":          {"It owns it.", whole, labels, true},
		"NoID":         {"The ContainerCluster is not there.", Owner{Namespace: "default", Cluster: "demo"}, labels, true},
		"NoCluster":    {"The name of the Cluster got lost.", Owner{Namespace: "default"}, labels, true},
		"OtherID":      {"Two management clusters share an engine.", Owner{Namespace: "default", Cluster: "demo", ID: "two"}, labels, false},
		"OtherWithNo":  {"What is known must not differ.", Owner{Namespace: "other"}, labels, false},
		"Unlabeled":    {"A container of a user has no owner.", whole, nil, false},
		"UnknownOwner": {"An owner without any value owns nothing.", Owner{}, nil, false},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := tc.owner.MayOwn(tc.labels); got != tc.want {
				t.Errorf("%s\nMayOwn = %t, want %t", tc.reason, got, tc.want)
			}
		})
	}
}

func TestContainerLabels(t *testing.T) {
	t.Parallel()
	owner := Owner{Namespace: "default", Cluster: "demo", ID: "one"}
	want := map[string]string{
		LabelNamespace: "default", LabelCluster: "demo", LabelOwnerID: "one",
		LabelRole: "load-balancer", labelKindCluster: "demo", labelKindRole: "external-load-balancer",
	}
	if diff := cmp.Diff(want, owner.ContainerLabels(RoleLoadBalancer, "")); diff != "" {
		t.Errorf("labels of a load balancer: -want +got:\n%s", diff)
	}
	want[LabelRole], want[labelKindRole], want[LabelMachine] = "control-plane", "control-plane", "demo-0"
	if diff := cmp.Diff(want, owner.ContainerLabels(RoleControlPlane, "demo-0")); diff != "" {
		t.Errorf("labels of a machine: -want +got:\n%s", diff)
	}
}

func TestSelect(t *testing.T) {
	t.Parallel()
	owner := Owner{Namespace: "default", Cluster: "demo", ID: "one"}
	others := map[string]string{LabelRole: "worker"}
	want := map[string]string{LabelNamespace: "default", LabelCluster: "demo", LabelOwnerID: "one", LabelRole: "worker"}
	if diff := cmp.Diff(want, owner.Select(others)); diff != "" {
		t.Errorf("Select: -want +got:\n%s", diff)
	}
	if len(others) != 1 {
		t.Error("Select changed its argument")
	}
}

func TestNewOwnerID(t *testing.T) {
	t.Parallel()
	one, two := NewOwnerID(), NewOwnerID()
	if one == two || len(one) != 16 || !engineName.MatchString(one) {
		t.Errorf("owner IDs %q and %q", one, two)
	}
}
