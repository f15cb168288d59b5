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

package command_test

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// A mistyped name is answered with where it was looked for and with the names
// that are there.
func TestNameOfNoCluster(t *testing.T) {
	t.Parallel()
	const where = "management cluster capcon-plane (simulated 1.0.0 at simulated://)"
	for name, tc := range map[string]struct {
		args  []string
		fails bool
		words []string
		// lost is what is said without a management plane.
		lost []string
	}{
		"Kubeconfig":    {[]string{"kubeconfig", "dmeo"}, true, []string{`cluster "dmeo" not found in ` + where, "demo, team-a/other", "capcon up dmeo"}, []string{`cluster "dmeo" not found: no management cluster found`, "lost"}},
		"Status":        {[]string{"status", "dmeo"}, true, []string{`cluster "dmeo" not found in ` + where, "demo, team-a/other", "capcon up dmeo"}, []string{`cluster "dmeo" not found: no management cluster found`, "lost"}},
		"Logs":          {[]string{"logs", "dmeo"}, true, []string{`cluster "dmeo" not found in ` + where, "demo, team-a/other", "capcon up dmeo"}, []string{`cluster "dmeo" not found: no management cluster found`, "lost"}},
		"GetConfig":     {[]string{"get", "config", "dmeo"}, true, []string{`cluster "dmeo" not found in ` + where, "demo, team-a/other", "capcon up dmeo"}, []string{`cluster "dmeo" not found: no management cluster found`, "lost"}},
		"GetMachines":   {[]string{"get", "machines", "dmeo"}, true, []string{`cluster "dmeo" not found in ` + where, "demo, team-a/other", "capcon up dmeo"}, []string{`cluster "dmeo" not found: no management cluster found`, "lost"}},
		"SupportBundle": {[]string{"support-bundle", "dmeo"}, true, []string{`cluster "dmeo" not found in ` + where, "demo, team-a/other", "capcon up dmeo"}, []string{`cluster "dmeo" not found: no management cluster found`, "lost"}},
		"List":          {[]string{"list", "dmeo"}, true, []string{`cluster "dmeo" not found in any available management cluster`, "lost", "capcon up dmeo"}, []string{`cluster "dmeo" not found in any available management cluster`, "lost"}},
		"Down":          {[]string{"down", "dmeo", "--keep-plane"}, false, []string{"cluster dmeo: not found in " + where, "demo, team-a/other"}, []string{"cluster dmeo: not found: there is neither a management cluster"}},
		"Forget":        {[]string{"forget", "dmeo"}, false, []string{"No record of cluster dmeo on simulated 1.0.0", "demo, lost"}, []string{"No record of cluster dmeo on simulated 1.0.0", "demo, lost"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := commandtest.WithLeftovers(t)
			for namespace, name := range map[string]string{"default": "demo", "team-a": "other"} {
				w.Create(&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}})
			}
			end := w.MustRun
			if tc.fails {
				end = w.MustFail
			}
			commandtest.Contains(t, end(tc.args...), tc.words...)
			w.Plane.Current = plane.State{}
			commandtest.Contains(t, end(tc.args...), tc.lost...)
		})
	}
}

// The cluster is there, and only its kubeconfig or its containers are not.
func TestNameOfAClusterThatBegins(t *testing.T) {
	t.Parallel()
	w := commandtest.WithLeftovers(t)
	w.Create(&clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "new"}})
	commandtest.Contains(t, w.MustFail("kubeconfig", "new"), "kubeconfig not available yet", "capcon status new")
	commandtest.Contains(t, w.MustFail("logs", "new"), "has no containers yet", "capcon status new")
}
