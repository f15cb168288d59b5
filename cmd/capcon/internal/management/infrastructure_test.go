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

package management

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// A pipeline that tags each build adds names without a limit.
func TestKeptImages(t *testing.T) {
	t.Parallel()
	many := func(from, to int) (names []string) {
		for i := from; i < to; i++ {
			names = append(names, fmt.Sprintf("app:%d", i))
		}
		return names
	}
	for name, tc := range map[string]struct {
		reason         string
		present, added []string
		absent         string
		want           []string
	}{
		"First":    {"The list is empty at first.", nil, []string{"a:1", "b:1", "a:1"}, "", []string{"a:1", "b:1"}},
		"Again":    {"What was loaded last is the newest.", []string{"a:1", "b:1"}, []string{"a:1"}, "", []string{"b:1", "a:1"}},
		"Removed":  {"The engine cannot give it to a node.", []string{"a:1", "b:1"}, []string{"c:1"}, "a:1", []string{"b:1", "c:1"}},
		"TooMany":  {"The oldest leaves.", many(0, maxImages), []string{"a:1"}, "", append(many(1, maxImages), "a:1")},
		"FullGone": {"A name that leaves makes room.", many(0, maxImages), []string{"a:1"}, "app:7", append(slices.Concat(many(0, 7), many(8, maxImages)), "a:1")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := keptImages(tc.present, tc.added, func(name string) bool { return name != tc.absent })
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// The API server refuses a list that is longer than the limit of the type.
func TestMaxImagesIsThatOfTheAPI(t *testing.T) {
	t.Parallel()
	types := string(must.Get(os.ReadFile("../../../../api/v1beta2/containercluster_types.go"))(t))
	before, _, _ := strings.Cut(types, "\tImages []string")
	markers := before[strings.LastIndex(before, "\n\n"):]
	if want := fmt.Sprintf("+kubebuilder:validation:MaxItems=%d\n", maxImages); !strings.Contains(markers, want) {
		t.Errorf("the field images does not have %q:\n%s", want, markers)
	}
}
