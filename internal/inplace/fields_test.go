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

package inplace

import (
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// A new field needs a decision, and those of resources one each.
func TestFieldsHasEachField(t *testing.T) {
	t.Parallel()
	var want, got []string
	var add func(prefix string, object reflect.Type)
	add = func(prefix string, object reflect.Type) {
		for field := range object.Fields() {
			name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
			if name == "resources" {
				add("resources.", field.Type)
				continue
			}
			want = append(want, prefix+name)
		}
	}
	add("", reflect.TypeFor[infrav1.ContainerMachineCommonSpec]())
	for _, field := range Fields() {
		got = append(got, strings.Join(field.Path, "."))
	}
	slices.Sort(want)
	slices.Sort(got)
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("fields of the API (-) and of Fields in fields.go (+), which says what can change while the container runs:\n%s", diff)
	}
}

// Users read what the webhook and the extension do.
func TestFieldsAreDocumented(t *testing.T) {
	t.Parallel()
	text := string(must.Get(os.ReadFile("../../docs/how-to/change.md"))(t))
	_, section, _ := strings.Cut(text, "### ContainerMachine\n")
	section, _, _ = strings.Cut(section, "\n### ")
	rows := map[string]string{}
	for line := range strings.Lines(section) {
		cells := strings.Split(line, "|")
		if len(cells) < 4 {
			continue
		}
		for name := range strings.SplitSeq(cells[1], ",") {
			rows[strings.Trim(name, " `")] = strings.TrimSpace(cells[2])
		}
	}
	for _, field := range Fields() {
		name := strings.Join(field.Path, ".")
		if answer, _, _ := strings.Cut(rows[name], ":"); answer != string(field.Change) {
			t.Errorf("docs/how-to/change.md has %q for %s, want %q", rows[name], name, field.Change)
		}
	}
}

func TestAccept(t *testing.T) {
	t.Parallel()
	limits := func(cpu, memory string, pids int64) infrav1.MachineResources {
		limits := infrav1.MachineResources{Pids: pids}
		if cpu != "" {
			limits.CPU = ptr.To(resource.MustParse(cpu))
		}
		if memory != "" {
			limits.Memory = ptr.To(resource.MustParse(memory))
		}
		return limits
	}
	for name, tc := range map[string]struct {
		reason              string
		before, after, want infrav1.MachineResources
	}{
		"grow":    {"A running container can get more.", limits("1", "1Gi", 1000), limits("2", "2Gi", 2000), limits("2", "2Gi", 2000)},
		"same":    {"Equal values are no change.", limits("1", "1Gi", 0), limits("1000m", "1024Mi", 0), limits("1000m", "1024Mi", 0)},
		"shrink":  {"Each limit is by itself.", limits("2", "2Gi", 2000), limits("1", "4Gi", 1000), limits("2", "4Gi", 2000)},
		"first":   {"Without a limit, a node has what its host has.", limits("", "", 0), limits("1", "1Gi", 1000), limits("", "", 0)},
		"removed": {"An engine does not remove a limit.", limits("1", "1Gi", 1000), limits("", "", 0), limits("1", "1Gi", 1000)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := &infrav1.ContainerMachineCommonSpec{Image: "a", Resources: tc.before}
			Accept(before, &infrav1.ContainerMachineCommonSpec{Image: "b", Resources: tc.after})
			if diff := cmp.Diff(&infrav1.ContainerMachineCommonSpec{Image: "a", Resources: tc.want}, before); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}
