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
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const recorded = `process	haproxy	own	99:99	0000000000000000	0000000000000400	1	2
process	haproxy	own	99:99	0000000000000000	0000000000000400	1	2
listens	00000000:192B	haproxy
listens	0100007F:20D5	haproxy
listens	0B00007F:8787	?
device	null
host	0000003ffeffffff
cmdline	haproxy -W
`

// Each difference between a container and the table is found.
func TestDiff(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		reason, replace, with string
		want                  bool
	}{
		"AsSaid":       {reason: "What the table says is no difference."},
		"User":         {"A process of root is one.", "99:99", "0:0", true},
		"Capability":   {"One capability more is one.", "0000000000000400	1", "0000000000000401	1", true},
		"All":          {"All capabilities are one.", "0000000000000400	1", "0000003ffeffffff	1", true},
		"NewPrivilege": {"setuid programs that count are one.", "1	2", "0	2", true},
		"Seccomp":      {"A process without seccomp is one.", "1	2", "1	0", true},
		"Device":       {"A device of the host is one.", "device	null", "device	vda", true},
		"Socket":       {"A socket on another port is one.", "192B", "192C", true},
		"Address":      {"A socket that the network reaches is one.", "0100007F", "00000000", true},
		"Dual":         {"An address of both families is everywhere, too.", "00000000:192B", "00000000000000000000000000000000:192B", false},
		"Program":      {"Another program is one.", "192B	haproxy", "192B	bash", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := Container{Permissions: Permissions{Name: LoadBalancer().Name, Published: LoadBalancer().Published}}
			must.Succeed(t, found.read(strings.Replace(recorded, tc.replace, tc.with, 1), nil))
			if diff := Diff(LoadBalancer(), found.Permissions); (diff != "") != tc.want {
				t.Errorf("%s\n-want, +found:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestDiffOfFilesAndMounts(t *testing.T) {
	t.Parallel()
	asSaid := func() Permissions {
		p := Worker()
		p.MayMount = nil
		return p
	}
	for name, tc := range map[string]struct {
		reason string
		change func(*Permissions)
		want   bool
	}{
		"AsSaid":    {"What the table says is no difference.", func(*Permissions) {}, false},
		"MayMount":  {"What only some hosts mount is none.", func(p *Permissions) { p.Mounts = append(p.Mounts, Worker().MayMount[0]) }, false},
		"Mount":     {"Another mount is one.", func(p *Permissions) { p.Mounts = append(p.Mounts, "bind: /") }, true},
		"Mode":      {"A file that others may read is one.", func(p *Permissions) { p.Files = append(p.Files, Files{Worker().Files[0].Glob, "644", root}) }, true},
		"NoFile":    {"A file that is missing is one: nothing was looked at.", func(p *Permissions) { p.Files = p.Files[1:] }, true},
		"Published": {"A published port is one.", func(p *Permissions) { p.Published = []string{"0.0.0.0 → 10250/tcp"} }, true},
	} {
		found := asSaid()
		tc.change(&found)
		if diff := Diff(Worker(), found); (diff != "") != tc.want {
			t.Errorf("%s: %s\n-want, +found:\n%s", name, tc.reason, diff)
		}
	}
}

func TestListens(t *testing.T) {
	t.Parallel()
	for address, want := range map[string]string{
		"00000000000000000000000000000000:280A": "*:10250 a",
		"030012AC:094C":                         "its address:2380 a",
		"0100007F:B335":                         "127.0.0.1:dynamic a",
		"00000000000000000000000001000000:2808": "127.0.0.1:10248 a",
		"0000000000000000FFFF00000100007F:2808": "127.0.0.1:10248 a",
		"0B00007F:8A0F":                         "",
	} {
		got := must.Get(listens(address, "a"))(t)
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("listens(%q): -want, +got:\n%s", address, diff)
		}
	}
}

// What users read is what is compared with containers.
func TestDocumented(t *testing.T) {
	t.Parallel()
	document := must.Get(os.ReadFile("../../docs/explanation/security.md"))(t)
	if !strings.Contains(string(document), "\n"+Markdown()+"\n") {
		t.Errorf("docs/explanation/security.md lacks this table:\n%s", Markdown())
	}
}
