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

package cloudconfig

import (
	"encoding/base64"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/reader"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

func parse(data string) (userdata.Config, error) {
	return Parse(new(reader.Reader), data, userdata.Instance{})
}

func TestParseFiles(t *testing.T) {
	t.Parallel()
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	const zipped = "H4sIAAAAAAACA8tIzcnJ5wIAIDA6NgYAAAA=" // "hello\n"
	cases := map[string]struct {
		reason string
		yaml   string
		want   userdata.File
	}{
		"plain":       {reason: "content is taken as it is", yaml: "content: 'hello'", want: userdata.File{Content: []byte("hello")}},
		"none":        {reason: "none is no encoding", yaml: "{content: hello, encoding: none}", want: userdata.File{Content: []byte("hello")}},
		"text/plain":  {reason: "cloud-init's name for none", yaml: "{content: hello, encoding: text/plain}", want: userdata.File{Content: []byte("hello")}},
		"b64":         {reason: "base64", yaml: "{encoding: b64, content: " + encode("hello") + "}", want: userdata.File{Content: []byte("hello")}},
		"base64":      {reason: "case does not matter", yaml: "{encoding: BASE64, content: " + encode("hello") + "}", want: userdata.File{Content: []byte("hello")}},
		"wrapped":     {reason: "base64 may be on several lines", yaml: "{encoding: base64, content: \"aGVs\\nbG8=\\n\"}", want: userdata.File{Content: []byte("hello")}},
		"unpadded":    {reason: "padding may be missing", yaml: "{encoding: base64, content: aGVsbG8}", want: userdata.File{Content: []byte("hello")}},
		"gz+b64":      {reason: "compressed", yaml: "{encoding: gz+b64, content: " + zipped + "}", want: userdata.File{Content: []byte("hello\n")}},
		"gz":          {reason: "gzip without base64 comes as !!binary", yaml: "{encoding: gz, content: !!binary " + zipped + "}", want: userdata.File{Content: []byte("hello\n")}},
		"binary":      {reason: "!!binary is decoded", yaml: "{content: !!binary AAEC}", want: userdata.File{Content: []byte{0, 1, 2}}},
		"mode quoted": {reason: "modes are octal", yaml: "{permissions: '0640'}", want: userdata.File{Mode: 0o640}},
		"mode number": {reason: "modes are octal without quotes too", yaml: "{permissions: 0755}", want: userdata.File{Mode: 0o755}},
		"mode 0o":     {reason: "YAML 1.2's octal", yaml: "{permissions: 0o600}", want: userdata.File{Mode: 0o600}},
		"mode short":  {reason: "a leading zero may be missing", yaml: "{permissions: '600'}", want: userdata.File{Mode: 0o600}},
		"mode none":   {reason: "no permissions are not the same as none given", yaml: "{permissions: '0000'}", want: userdata.File{Mode: userdata.NoPermissions}},
		"owner":       {reason: "user and group", yaml: "{owner: 'etcd:etcd'}", want: userdata.File{Owner: "etcd:etcd"}},
		"owner id":    {reason: "numeric ids", yaml: "{owner: 1000}", want: userdata.File{Owner: "1000"}},
		"defer":       {reason: "YAML 1.1's yes is true", yaml: "{defer: yes}", want: userdata.File{Defer: true}},
		"null":        {reason: "null is like missing", yaml: "{content: null, permissions: null, owner: ~, append: ~}", want: userdata.File{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			body := strings.TrimSuffix(strings.TrimPrefix(tc.yaml, "{"), "}")
			data := "#cloud-config\nwrite_files: [{path: /etc/x, " + body + "}]\n"
			got, err := parse(data)
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			tc.want.Path = "/etc/x"
			if tc.want.Content == nil {
				tc.want.Content = []byte{}
			}
			if diff := cmp.Diff([]userdata.File{tc.want}, got.Files); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestParseModules(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		yaml   string
		want   userdata.Config
	}{
		"nothing": {reason: "a header alone is empty", yaml: ""},
		"commands": {
			reason: "strings, lists and empty entries keep their places",
			yaml:   "runcmd:\n- a b\n-\n- [c, 1, true, 0644, 'd e']\n- []\n",
			want:   userdata.Config{Commands: []userdata.Command{{Shell: "a b"}, {}, {Args: []string{"c", "1", "true", "0644", "d e"}}, {}}},
		},
		"bootcmd": {reason: "bootcmd is like runcmd", yaml: "bootcmd: [x]", want: userdata.Config{BootCommands: []userdata.Command{{Shell: "x"}}}},
		"paths": {
			reason: "paths are made absolute and clean",
			yaml:   "write_files: [{path: etc//a/../b}]",
			want:   userdata.Config{Files: []userdata.File{{Path: "/etc/b", Content: []byte{}}}},
		},
		"anchors": {
			reason: "anchors and merge keys are YAML, and what is written out wins",
			yaml:   "write_files:\n- &a {path: /a, permissions: '0600', owner: x}\n- {<<: *a, path: /b}\n- {<<: [{append: true}, *a]}\n- *a\n",
			want: userdata.Config{Files: []userdata.File{
				{Path: "/a", Mode: 0o600, Owner: "x", Content: []byte{}},
				{Path: "/b", Mode: 0o600, Owner: "x", Content: []byte{}},
				{Path: "/a", Mode: 0o600, Owner: "x", Append: true, Content: []byte{}},
				{Path: "/a", Mode: 0o600, Owner: "x", Content: []byte{}},
			}},
		},
		"users": {
			reason: "names alone, lists or strings of groups, a boolean where Cluster API has one",
			yaml: "users:\n- default\n- joe\n- {name: a, groups: [b, 'c, d'], lock_passwd: false, sudo: false, inactive: false}\n" +
				"- {name: e, sudo: [x, y], inactive: '7', uid: 1000, expiredate: 2030-01-01, no_create_home: true, no_user_group: true}\n",
			want: userdata.Config{Users: []userdata.User{
				{},
				{Name: "joe"},
				{Name: "a", Groups: []string{"b", "c", "d"}, UnlockPassword: true},
				{Name: "e", Sudo: []string{"x", "y"}, Inactive: "7", UID: "1000", ExpireDate: "2030-01-01", NoCreateHome: true, NoUserGroup: true},
			}},
		},
		"empty modules": {
			reason: "empty modules are no reason to refuse",
			yaml:   "ntp: {enabled: false, servers: [a]}\nmounts: []\ndisk_setup:\nfs_setup: null\nwrite_files:\nusers:\nruncmd: []\n",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := parse("#cloud-config\n" + tc.yaml)
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// canary stands for a private key in broken data: no error may repeat it.
const canary = "TOPSECRET"

func TestParseInvalid(t *testing.T) {
	t.Parallel()
	const head = "#cloud-config\n"
	cases := map[string]struct {
		reason string
		data   string
		line   int
	}{
		"no header":       {reason: "cloud-init ignores it silently", data: canary + "\nruncmd: []", line: 1},
		"script":          {reason: "user data may be a script, here it may not", data: "#!/bin/sh\n" + canary, line: 1},
		"other template":  {reason: "only jinja", data: "## template: basic\n#cloud-config\n" + canary, line: 1},
		"broken YAML":     {reason: "the line the broken part begins at is named", data: head + "a:\n - b\n c: " + canary, line: 2},
		"after template":  {reason: "lines are those of the data", data: "## template: jinja\n" + head + "runcmd: " + canary, line: 3},
		"command mapping": {reason: "YAML's trap: a colon and a space", data: head + "runcmd:\n- echo " + canary + ": x\n", line: 3},
		"command number":  {reason: "a number is no command", data: head + "runcmd: [1]", line: 2},
		"NUL in command":  {reason: "no command line holds it", data: head + "runcmd: [\"a\\0" + canary + "\"]", line: 2},
		"no path":         {reason: "a file without a path", data: head + "write_files: [{content: " + canary + "}]", line: 2},
		"directory":       {reason: "a path that names no file", data: head + "write_files: [{path: /" + canary + "/}]", line: 2},
		"mode":            {reason: "not octal", data: head + "write_files: [{path: /a, permissions: " + canary + "}]", line: 2},
		"mode too long":   {reason: "more than chmod takes", data: head + "write_files: [{path: /a, permissions: '77777'}]", line: 2},
		"owner":           {reason: "a flag is no owner", data: head + "write_files: [{path: /a, owner: --reference=" + canary + "}]", line: 2},
		"encoding":        {reason: "unknown", data: head + "write_files: [{path: /a, encoding: " + canary + "}]", line: 2},
		"base64":          {reason: "broken", data: head + "write_files: [{path: /a, encoding: b64, content: '" + canary + "!'}]", line: 2},
		"gzip":            {reason: "broken", data: head + "write_files: [{path: /a, encoding: gz+b64, content: " + canary + "}]", line: 2},
		"append":          {reason: "neither true nor false", data: head + "write_files: [{path: /a, append: " + canary + "}]", line: 2},
		"user without":    {reason: "a user needs a name", data: head + "users: [{gecos: " + canary + "}]", line: 2},
		"jinja syntax":    {reason: "the template is broken", data: "## template: jinja\n" + head + "runcmd: ['{{ " + canary + "']", line: 3},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(tc.data)
			var invalid *reader.InvalidError
			if !errors.As(err, &invalid) {
				t.Fatalf("%s: got error %v, want an *InvalidError", tc.reason, err)
			}
			if strings.Contains(err.Error(), canary) {
				t.Errorf("%s: the error repeats the data: %v", tc.reason, err)
			}
			if invalid.Line != tc.line {
				t.Errorf("%s: line %d, want %d: %v", tc.reason, invalid.Line, tc.line, err)
			}
		})
	}
}

func TestParseUnsupported(t *testing.T) {
	t.Parallel()
	data := "#cloud-config\n" + `
ntp: {enabled: true, servers: [` + canary + `]}
disk_setup: {` + canary + `: {}}
fs_setup: [{label: ` + canary + `}]
mounts: [[` + canary + `]]
swap: {size: 1}
` + canary + ` with a blank: 1
packages: [` + canary + `]
write_files: [{path: /a, source: {uri: ` + canary + `}}]
users: [{name: a, ssh_import_id: [` + canary + `]}, {name: b, ssh_import_id: []}]
runcmd: [` + canary + `]
`
	_, err := parse(data)
	var unsupported *reader.UnsupportedError
	if !errors.As(err, &unsupported) {
		t.Fatalf("got error %v, want an *UnsupportedError", err)
	}
	want := []string{
		"(invalid module name)", "disk_setup", "fs_setup", "mounts", "ntp", "packages", "swap",
		"users[0].ssh_import_id", "users[1].ssh_import_id", "write_files[0].source",
	}
	if diff := cmp.Diff(want, unsupported.Modules); diff != "" {
		t.Errorf("all of them are listed (-want +got):\n%s", diff)
	}
	if strings.Contains(err.Error(), canary) {
		t.Errorf("the error repeats the data: %v", err)
	}
}
