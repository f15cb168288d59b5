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
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

func TestCheckResources(t *testing.T) {
	t.Parallel()
	host := node.Host{MilliCPU: 4000, MemoryBytes: 8 << 30}
	for name, c := range map[string]struct {
		limits node.Resources
		host   node.Host
		want   []node.ResourceError
	}{
		"nothing is limited": {host: host},
		"all the host has":   {limits: node.Resources{MilliCPU: 4000, MemoryBytes: 8 << 30}, host: host},
		"host is not known":  {limits: node.Resources{MilliCPU: 400_000, MemoryBytes: 8 << 40}},
		"too little": {limits: node.Resources{MilliCPU: 749, MemoryBytes: 1}, host: host, want: []node.ResourceError{
			{Field: "cpu", Reason: "is less than a node requires", Remedy: "use at least 750m, or omit it"},
			{Field: "memory", Reason: "is less than a node requires", Remedy: "use at least 1Gi, or omit it"},
		}},
		"more than the host has": {limits: node.Resources{MilliCPU: 4001, MemoryBytes: 9 << 30}, host: host, want: []node.ResourceError{
			{Field: "cpu", Reason: "is 4001m, but the engine's host has only 4", Remedy: "use less, or omit it"},
			{Field: "memory", Reason: "is 9Gi, but the engine's host has only 8Gi", Remedy: "use less, or omit it"},
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, node.CheckResources(c.limits, c.host)); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
		})
	}
}

// TestReserved: the kubelet subtracts it from what it sees, which is the host's.
func TestReserved(t *testing.T) {
	t.Parallel()
	host := node.Host{MilliCPU: 4000, MemoryBytes: 8 << 30}
	for name, c := range map[string]struct {
		limits node.Resources
		host   node.Host
		want   string
	}{
		"nothing is limited":   {host: host},
		"processes have none":  {limits: node.Resources{Pids: 2000}, host: host},
		"both":                 {limits: node.Resources{MilliCPU: 1500, MemoryBytes: 6 << 30}, host: host, want: "--system-reserved=cpu=2500m --system-reserved=memory=2147483648"},
		"memory":               {limits: node.Resources{MemoryBytes: 6 << 30}, host: host, want: "--system-reserved=memory=2147483648"},
		"all of it is offered": {limits: node.Resources{MilliCPU: 4000}, host: host},
		"host is not known":    {limits: node.Resources{MilliCPU: 1500, MemoryBytes: 6 << 30}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, flag := range node.KubeletFlags(node.Kubelet{Resources: c.limits}, c.host) {
				if strings.HasPrefix(flag, "--system-reserved=") {
					got = append(got, flag)
				}
			}
			if got := strings.Join(got, " "); got != c.want {
				t.Errorf("the kubelet reserves %q, want %q", got, c.want)
			}
		})
	}
}
