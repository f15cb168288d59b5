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

package ignition

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/reader"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

// someUnit is what makes a configuration worth carrying out.
const someUnit = `"systemd": {"units": [{"name": "a.service", "enable": true}]}`

// data returns a configuration with more sections alongside someUnit.
func data(sections string) []byte {
	if sections != "" {
		sections += ","
	}
	return []byte(`{"ignition": {"version": "2.3.0"}, ` + sections + someUnit + `}`)
}

func TestParse(t *testing.T) {
	t.Parallel()
	unit := userdata.Unit{Name: "a.service", Content: []byte{}, Enabled: userdata.SwitchOn}
	const zipped = "H4sIAAAAAAACA6vKLChITQEAV2jC4gYAAAA=" // "zipped"
	file := func(fields string) string {
		return `"storage": {"files": [{"filesystem": "root", "path": "/f", ` + fields + `}]}`
	}
	content := func(fields string) string { return file(`"mode": 420, "contents": {` + fields + `}`) }
	plain := func(text string) userdata.Config {
		return userdata.Config{Files: []userdata.File{{
			Path: "/f", Owner: "root:root", Mode: 0o644, Overwrite: userdata.SwitchOn, Defer: true, Content: []byte(text),
		}}}
	}
	cases := map[string]struct {
		reason, sections string
		want             userdata.Config
	}{
		"least": {reason: "all sections but two may be missing"},
		"empty": {
			reason: "providers emit empty sections",
			sections: `"networkd": {}, "passwd": {"users": null}, "storage": {"disks": [], "raid": null, "filesystems": []},
				"future": {"a": [{}, "", false]}`,
		},
		"nulls": {
			reason: "null is like missing",
			sections: `"passwd": {"users": [{"name": "a", "uid": null, "passwordHash": null}]}, "storage": {"links": [{"filesystem": "root",
				"path": "/l", "target": "x", "mode": null, "overwrite": null, "user": {"id": null, "future": null}}]}`,
			want: userdata.Config{
				Users: []userdata.User{{Name: "a", Update: true, UnlockPassword: true, PasswordHash: "*"}},
				Links: []userdata.Link{{Path: "/l", Target: "x", Owner: "root:root", Overwrite: userdata.SwitchOff}},
			},
		},
		"escapes":         {reason: "a data: URL has escapes, and a plus is a plus", sections: content(`"source": "data:,a%20b%0A+%C3%BC,%25"`), want: plain("a b\n+ü,%")},
		"media type":      {reason: "the media type says nothing", sections: content(`"source": "data:text/plain;charset=utf-8,x"`), want: plain("x")},
		"base64":          {reason: "content may be base64", sections: content(`"source": "data:;base64,YWJj"`), want: plain("abc")},
		"base64 unpadded": {reason: "padding may be missing or escaped", sections: content(`"source": "data:text/plain;base64,YWI%3D"`), want: plain("ab")},
		"gzip": {
			reason: "content may be compressed", sections: content(`"compression": "gzip", "source": "data:;base64,` + zipped + `"`),
			want: plain("zipped"),
		},
		"hash": {
			reason: "a hash is checked, whatever the case of its digits",
			sections: content(`"source": "data:,abc", "verification": {"hash": "sha512-` +
				`DDAF35A193617ABACC417349AE20413112E6FA4E89A97EA20A9EEEE64B55D39A2192992A274FC1A836BA3C23A3FEEBBD454D4423643CE80E2A9AC94FA54CA49F"}`),
			want: plain("abc"),
		},
		"no contents": {reason: "a file may be empty", sections: file(`"mode": 420`), want: plain("")},
		"no mode": {
			reason: "without a mode there are no permissions, as in Ignition", sections: file(`"contents": {}`),
			want: userdata.Config{Files: []userdata.File{{Path: "/f", Owner: "root:root", Mode: userdata.NoPermissions, Overwrite: userdata.SwitchOn, Defer: true}}},
		},
		"owner": {
			reason: "accounts have a name or an id", sections: file(`"mode": 0, "user": {"name": "joe"}, "group": {"id": 0}, "overwrite": false`),
			want: userdata.Config{Files: []userdata.File{{Path: "/f", Owner: "joe:0", Mode: userdata.NoPermissions, Overwrite: userdata.SwitchOff, Defer: true}}},
		},
		"append": {
			reason: "append keeps what is there, its owner and mode too", sections: file(`"append": true`),
			want: userdata.Config{Files: []userdata.File{{Path: "/f", Owner: "root:root", Mode: userdata.NoPermissions, Append: true, KeepAttributes: true, Defer: true}}},
		},
		"directories": {
			reason:   "directories have an owner and a mode",
			sections: `"storage": {"directories": [{"filesystem": "root", "path": "/d/", "mode": 448, "user": {"id": 7}, "overwrite": true}]}`,
			want:     userdata.Config{Directories: []userdata.Dir{{Path: "/d", Owner: "7:root", Mode: 0o700, Overwrite: userdata.SwitchOn}}},
		},
		"links": {
			reason: "links are symbolic or hard",
			sections: `"storage": {"links": [{"filesystem": "root", "path": "/l", "target": "../x"},
				{"filesystem": "root", "path": "/h", "target": "/x", "hard": true, "overwrite": true}]}`,
			want: userdata.Config{Links: []userdata.Link{
				{Path: "/l", Target: "../x", Owner: "root:root", Overwrite: userdata.SwitchOff},
				{Path: "/h", Target: "/x", Hard: true, Owner: "root:root", Overwrite: userdata.SwitchOn},
			}},
		},
		"accounts": {
			reason: "users are made or changed; a password is none unless given",
			sections: `"passwd": {"groups": [{"name": "g", "gid": 9, "system": true}, {"name": "h", "passwordHash": "x"}],
				"users": [{"name": "joe", "uid": 0, "groups": ["g"], "primaryGroup": "h", "homeDir": "/j", "shell": "/bin/sh", "gecos": "J",
				"passwordHash": "$6$x", "sshAuthorizedKeys": ["ssh-ed25519 A"], "noCreateHome": true, "noUserGroup": true, "noLogInit": true},
				{"name": "ann", "passwordHash": "", "system": true, "create": {"shell": "/bin/old", "uid": 5}}]}`,
			want: userdata.Config{
				Groups: []userdata.Group{{Name: "g", GID: "9", System: true, PasswordHash: "*"}, {Name: "h", PasswordHash: "x"}},
				Users: []userdata.User{
					{
						Name: "joe", Update: true, UID: "0", Groups: []string{"g"}, PrimaryGroup: "h", HomeDir: "/j", Shell: "/bin/sh", Gecos: "J",
						PasswordHash: "*", NewPasswordHash: "$6$x", UnlockPassword: true, SSHAuthorizedKeys: []string{"ssh-ed25519 A"},
						NoCreateHome: true, NoUserGroup: true,
					},
					{Name: "ann", Update: true, Shell: "/bin/old", UID: "5", PasswordHash: "*", NewPasswordHash: "*", UnlockPassword: true, System: true},
				},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Parse(new(reader.Reader), data(tc.sections))
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			for i, file := range got.Files {
				if len(file.Content) == 0 {
					got.Files[i].Content = nil
				}
			}
			for i, file := range tc.want.Files {
				if len(file.Content) == 0 {
					tc.want.Files[i].Content = nil
				}
			}
			tc.want.Format, tc.want.Units = userdata.FormatIgnition, []userdata.Unit{unit}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

// TestParseRefused is what cannot be honored: field, value and what to do instead, all together.
func TestParseRefused(t *testing.T) {
	t.Parallel()
	const disks = " (containers have no disks; use spec.extraMounts of the ContainerMachine)"
	cases := map[string]struct {
		data string
		want string
	}{
		"version 3": {
			data: `{"ignition": {"version": "3.4.0"}, "kernelArguments": {"shouldExist": ["x"]}}`,
			want: `ignition.version "3.4.0" (use 2.3.0, the version of the kubeadm bootstrap provider)`,
		},
		"version 2.2": {data: `{"ignition": {"version": "2.2.0"}}`, want: `ignition.version "2.2.0" (use 2.3.0,`},
		"configuration elsewhere": {
			data: `{"ignition": {"version": "2.3.0", "config": {"replace": {"source": "https://user:canary@example.com"}}}, ` + someUnit + `}`,
			want: "ignition.config (remote configuration is not supported; put all configuration into the bootstrap data Secret)",
		},
		"authorities": {
			data: `{"ignition": {"version": "2.3.0", "security": {"tls": {"certificateAuthorities": [{"source": "data:,canary"}]}}}, ` + someUnit + `}`,
			want: "ignition.security (remote files are not supported; remove it)",
		},
		"disks, RAID, file systems": {
			data: string(data(`"storage": {"disks": [{"device": "/dev/canary"}], "raid": [{"name": "x"}], "filesystems": [{"name": "x"}]}`)),
			want: "storage.disks" + disks + ", storage.filesystems" + disks + ", storage.raid" + disks,
		},
		"file system": {
			data: string(data(`"storage": {"files": [{"filesystem": "root", "path": "/a"}, {"filesystem": "oem", "path": "/f"}]}`)),
			want: `storage.files[1].filesystem "oem" (use root;`,
		},
		"network": {
			data: string(data(`"networkd": {"units": [{"name": "00-canary.network"}]}`)),
			want: "networkd.units (the engine configures the network of nodes; use spec.network of the ContainerCluster)",
		},
		"compression": {
			data: string(data(`"storage": {"files": [{"filesystem": "root", "path": "/f", "contents": {"compression": "xz", "source": "data:,canary"}}]}`)),
			want: `storage.files[0].contents.compression "xz" (use gzip or none)`,
		},
		"unknown keys": {
			data: string(data(`"storage": {"files": [{"filesystem": "root", "path": "/f", "color": "canary"}]}, "passwd": {"users": [{"name": "a", "sudo": "canary"}]}`)),
			want: "passwd.users[0].sudo, storage.files[0].color",
		},
		"key that is no name": {
			data: string(data(`"the canary sings": 1`)), want: "(invalid module name)",
		},
	}
	for _, scheme := range []string{"http", "https", "tftp", "s3", "oem"} {
		cases["source "+scheme] = struct{ data, want string }{
			data: string(data(`"storage": {"files": [{"filesystem": "root", "path": "/f", "contents": {"source": "` + scheme + `://user:canary@x"}}]}`)),
			want: "storage.files[0].contents.source " + scheme + ": (remote files are not supported; use a data: URL)",
		}
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(new(reader.Reader), []byte(tc.data))
			var unsupported *reader.UnsupportedError
			if !errors.As(err, &unsupported) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an *UnsupportedError that says %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "canary") {
				t.Errorf("the error repeats the data: %v", err)
			}
		})
	}
}

func TestParseInvalid(t *testing.T) {
	t.Parallel()
	storage := func(list, fields string) string {
		return string(data(`"storage": {"` + list + `": [{"filesystem": "root", ` + fields + `}]}`))
	}
	source := func(fields string) string { return storage("files", `"path": "/f", "contents": {`+fields+`}`) }
	user := func(fields string) string {
		return string(data(`"passwd": {"users": [{` + fields + `}]}`))
	}
	unit := func(fields string) string {
		return `{"ignition": {"version": "2.3.0"}, "systemd": {"units": [{"enabled": true, ` + fields + `}]}}`
	}
	cases := map[string]struct{ data, want string }{
		"broken JSON":        {data: "{\n\"canary\": }", want: "line 2: not valid JSON"},
		"a list":             {data: `[]`, want: "the configuration is not a mapping"},
		"no version":         {data: `{"ignition": {}}`, want: "ignition.version is required; use 2.3.0"},
		"nothing enabled":    {data: `{"ignition": {"version": "2.3.0"}}`, want: "no unit is enabled"},
		"enabled and masked": {data: unit(`"name": "a.service", "mask": true`), want: "no unit is enabled"},
		"unit's name":        {data: unit(`"name": "canary"`), want: "systemd.units[0].name is not a valid unit name"},
		"unit elsewhere":     {data: unit(`"name": "../canary.service"`), want: "systemd.units[0].name"},
		"unit as a flag":     {data: unit(`"name": "-H.service"`), want: "systemd.units[0].name"},
		"our own unit":       {data: unit(`"name": "` + userdata.BootstrapUnit + `"`), want: "systemd.units[0].name"},
		"drop-in's name":     {data: unit(`"name": "a.service", "dropins": [{"name": "../canary.conf"}]`), want: "systemd.units[0].dropins[0].name"},
		"not a boolean":      {data: unit(`"name": "a.service", "mask": "canary"`), want: "systemd.units[0].mask is not true or false"},
		"not an object":      {data: string(data(`"storage": {"files": ["canary"]}`)), want: "storage.files[0] is not a mapping"},
		"relative path":      {data: storage("files", `"path": "canary"`), want: "storage.files[0].path is not an absolute path"},
		"root as a file":     {data: storage("files", `"path": "/x/.."`), want: "storage.files[0].path is not an absolute path"},
		"mode too large":     {data: storage("files", `"path": "/f", "mode": 4096`), want: "storage.files[0].mode is not an integer from 0 to 4095"},
		"mode as text":       {data: storage("files", `"path": "/f", "mode": "0600"`), want: "storage.files[0].mode"},
		"mode as fraction":   {data: storage("files", `"path": "/f", "mode": 1.5`), want: "storage.files[0].mode"},
		"negative id":        {data: storage("files", `"path": "/f", "user": {"id": -1}`), want: "storage.files[0].user.id"},
		"id and name":        {data: storage("files", `"path": "/f", "group": {"id": 1, "name": "canary"}`), want: "storage.files[0].group must not have both"},
		"owner as a flag":    {data: storage("files", `"path": "/f", "user": {"name": "--canary"}`), want: "storage.files[0].user.name"},
		"append, overwrite":  {data: storage("files", `"path": "/f", "append": true, "overwrite": true`), want: "must not set both append and overwrite"},
		"no target":          {data: storage("links", `"path": "/l"`), want: "storage.links[0].target is required"},
		"no comma":           {data: source(`"source": "data:canary"`), want: "storage.files[0].contents.source: data: URL has no comma"},
		"broken escape":      {data: source(`"source": "data:,canary%2"`), want: "invalid escape sequence"},
		"broken base64":      {data: source(`"source": "data:;base64,canary!"`), want: "has invalid base64"},
		"broken gzip":        {data: source(`"compression": "gzip", "source": "data:,canary"`), want: "invalid gzip header"},
		"wrong hash":         {data: source(`"source": "data:,canary", "verification": {"hash": "sha512-00"}`), want: "does not match the SHA-512"},
		"other hash":         {data: source(`"source": "data:,canary", "verification": {"hash": "md5-00"}`), want: "does not match the SHA-512"},
		"user's name":        {data: user(`"name": "--canary"`), want: "passwd.users[0].name is not a valid user name"},
		"user without name":  {data: user(`"shell": "/bin/sh"`), want: "passwd.users[0].name"},
		"user's lines":       {data: user(`"name": "a", "gecos": "canary\nroot"`), want: "passwd.users[0].gecos contains a control character"},
		"group's name":       {data: string(data(`"passwd": {"groups": [{"name": ""}]}`)), want: "passwd.groups[0].name is not a valid group name"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(new(reader.Reader), []byte(tc.data))
			var invalid *reader.InvalidError
			if !errors.As(err, &invalid) || !strings.Contains(err.Error(), tc.want) {
				t.Errorf("got %v, want an *InvalidError that says %q", err, tc.want)
			}
			if err != nil && strings.Contains(err.Error(), "canary") {
				t.Errorf("the error repeats the data: %v", err)
			}
		})
	}
}
