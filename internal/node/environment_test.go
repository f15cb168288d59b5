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

package node_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// TestEnvironment: the entrypoint of node images writes three variables into the
// configuration of systemd, where a percent sign begins a specifier.
func TestEnvironment(t *testing.T) {
	t.Parallel()
	given := map[string]string{"HTTPS_PROXY": "http://u:p%40ss@proxy:3128", "https_proxy": "http://u:p%40ss@proxy:3128", "FORMAT": "%d"}
	want := map[string]string{"HTTPS_PROXY": "http://u:p%%40ss@proxy:3128", "https_proxy": "http://u:p%40ss@proxy:3128", "FORMAT": "%d"}
	if diff := cmp.Diff(want, node.Spec(node.Machine{Environment: given}, node.Host{}).Environment); diff != "" {
		t.Errorf("variables (-want +got):\n%s", diff)
	}
}
