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

package preflight

import (
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// An image of the user's answers the probe: it may print anything.
func FuzzParseProbe(f *testing.F) {
	f.Add("== /proc/1/limits\nMax open files 1024 20000 files\n== /proc/1/uid_map\n0 1000 1\n1 100000 65536\n== storage\n4096 1000 4000 500 1000\n")
	f.Add(strings.Repeat("== ipv6\n0\n", 1000))
	f.Add("== ipv6\n" + strings.Repeat("0\n", 10000))
	f.Fuzz(func(t *testing.T, text string) {
		must.StayWithin(t, len(text), must.Limit{Base: 1 << 20, PerByte: 1 << 7}, func() {
			host := parseProbe(text)
			for _, value := range []int64{host.StorageFreeBytes, host.StorageFreeInodes, host.UserIDs, host.OpenFiles} {
				if value < unknown {
					t.Errorf("a number is negative: %+v", host)
				}
			}
		})
	})
}
