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

package permissions

import (
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
)

// Diff is how a container differs from what the table says; empty where it does
// not. Several processes, sockets and files of one kind count once.
func Diff(want, found Permissions) string {
	found.Mounts = slices.DeleteFunc(slices.Clone(found.Mounts), func(mount string) bool { return slices.Contains(want.MayMount, mount) })
	want.MayMount = nil
	return cmp.Diff(normal(want), normal(found))
}

func normal(p Permissions) Permissions {
	for _, items := range []*[]string{&p.Users, &p.Mounts, &p.Published, &p.Listens} {
		*items = slices.Clone(*items)
		slices.Sort(*items)
		*items = slices.Compact(*items)
		if len(*items) == 0 {
			*items = nil
		}
	}
	p.Files = slices.Clone(p.Files)
	slices.SortFunc(p.Files, func(a, b Files) int { return strings.Compare(a.Glob+a.Mode+a.Owner, b.Glob+b.Mode+b.Owner) })
	p.Files = slices.Compact(p.Files)
	if len(p.Files) == 0 {
		p.Files = nil
	}
	return p
}
