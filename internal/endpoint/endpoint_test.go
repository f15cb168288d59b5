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

package endpoint_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestParse(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		text    string
		want    string
		refused string
	}{
		"TCP":             {text: "tcp://build.example.org", want: "tcp://build.example.org:2376"},
		"TCPPort":         {text: "tcp://10.0.0.7:1234", want: "tcp://10.0.0.7:1234"},
		"TCPIPv6":         {text: "tcp://[fd00::7]", want: "tcp://[fd00::7]:2376"},
		"UpperCase":       {text: "tcp://Build.Example.org", want: "tcp://build.example.org:2376"},
		"SSH":             {text: "ssh://capcon@build.example.org", want: "ssh://capcon@build.example.org:22/var/run/docker.sock"},
		"SSHSocket":       {text: "ssh://capcon@10.0.0.7:2222/run/podman/podman.sock", want: "ssh://capcon@10.0.0.7:2222/run/podman/podman.sock"},
		"Socket":          {text: "unix:///var/run/docker.sock", refused: "has a scheme that objects cannot have"},
		"Pipe":            {text: "npipe:////./pipe/docker_engine", refused: "has a scheme that objects cannot have"},
		"HTTP":            {text: "http://10.0.0.7:2375", refused: "has a scheme that objects cannot have"},
		"NoScheme":        {text: "build.example.org", refused: "has a scheme that objects cannot have"},
		"Empty":           {text: "", refused: "has a scheme that objects cannot have"},
		"NoHost":          {text: "tcp://:2376", refused: "has no valid host"},
		"NotAHost":        {text: "tcp://build_example", refused: "has no valid host"},
		"Zone":            {text: "tcp://[fe80::1%25eth0]:2376", refused: "has no valid host"},
		"PortZero":        {text: "tcp://a:0", refused: "has a port that is not one"},
		"PortTooLarge":    {text: "tcp://a:65536", refused: "has a port that is not one"},
		"Password":        {text: "ssh://me:s3cret@a", refused: "has a password"},
		"NoUser":          {text: "ssh://a", refused: "has no user"},
		"TCPUser":         {text: "tcp://me@a", refused: "has a user"},
		"TCPPath":         {text: "tcp://a/path", refused: "has a path"},
		"Query":           {text: "tcp://a?x=y", refused: "has a query"},
		"SocketNotClean":  {text: "ssh://me@a/run/../etc", refused: "has a path that is no socket"},
		"SocketDirectory": {text: "ssh://me@a/", refused: "has a path that is no socket"},
		"NotAURL":         {text: "tcp://a:b:c", refused: "is not a URL"},
	}
	for name, tc := range cases {
		got, err := endpoint.Parse(tc.text)
		if tc.refused != "" {
			var refused *endpoint.Error
			if !errors.As(err, &refused) || !strings.HasPrefix(err.Error(), tc.refused) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%s: got %v, want it refused because it %s", name, err, tc.refused)
			}
			continue
		}
		if err != nil || got.String() != tc.want {
			t.Errorf("%s: got %s, %v, want %s", name, got, err, tc.want)
		}
		again, err := endpoint.Parse(got.String())
		if diff := cmp.Diff(got, again); diff != "" || err != nil {
			t.Errorf("%s: read again: %v (-want, +got):\n%s", name, err, diff)
		}
	}
}

func TestAllowed(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason   string
		patterns []string
		admits   []string
		refuses  []string
	}{
		"None": {
			"No object may dial anything unless a flag allows it.", nil,
			nil, []string{"tcp://a", "ssh://me@127.0.0.1"},
		},
		"Name": {
			"The port is that of the scheme.", []string{"tcp://build.example.org"},
			[]string{"tcp://build.example.org", "tcp://BUILD.example.org:2376"},
			[]string{"tcp://build.example.org:2377", "ssh://me@build.example.org", "tcp://other.build.example.org", "tcp://build.example.org.evil"},
		},
		"Domain": {
			"Names below it, and not itself.", []string{"ssh://*.example.org"},
			[]string{"ssh://me@a.example.org", "ssh://you@b.c.example.org/run/podman/podman.sock"},
			[]string{"ssh://me@example.org", "ssh://me@evilexample.org", "ssh://me@a.example.org:2222", "tcp://a.example.org"},
		},
		"Range": {
			"A name is not of a range, whatever it resolves to.", []string{"tcp://10.0.0.0/24:*"},
			[]string{"tcp://10.0.0.1", "tcp://10.0.0.255:99"},
			[]string{"tcp://10.0.1.1", "tcp://localhost", "tcp://[::1]"},
		},
		"RangeIPv6": {
			"In brackets, with its length.", []string{"tcp://[fd00::/64]:1234"},
			[]string{"tcp://[fd00::9]:1234"}, []string{"tcp://[fd00::9]", "tcp://[fd01::9]:1234"},
		},
		"IPv6": {
			"One address.", []string{"ssh://me@[fd00::7]"},
			[]string{"ssh://me@[fd00::7]:22"}, []string{"ssh://you@[fd00::7]", "ssh://me@[fd00::8]"},
		},
		"User": {
			"And the socket.", []string{"ssh://me@a:2222/run/podman/podman.sock"},
			[]string{"ssh://me@a:2222/run/podman/podman.sock"},
			[]string{"ssh://root@a:2222/run/podman/podman.sock", "ssh://me@a:2222/var/run/docker.sock"},
		},
		"RangeSocket": {
			"A slash after the length begins the socket.", []string{"ssh://10.0.0.0/8/run/podman/podman.sock"},
			[]string{"ssh://me@10.9.9.9/run/podman/podman.sock"}, []string{"ssh://me@10.9.9.9"},
		},
		"Any": {
			"Each scheme by itself.", []string{"ssh://*:*", "tcp://*"},
			[]string{"ssh://me@a:1", "tcp://b"}, []string{"tcp://b:1"},
		},
	}
	for name, tc := range cases {
		allowed := must.Get(endpoint.ParseAllowed(tc.patterns))(t)
		for _, text := range tc.admits {
			if !allowed.Has("any", must.Get(endpoint.Parse(text))(t)) {
				t.Errorf("%s: %s\n%s is refused", name, tc.reason, text)
			}
		}
		for _, text := range tc.refuses {
			if allowed.Has("any", must.Get(endpoint.Parse(text))(t)) {
				t.Errorf("%s: %s\n%s is admitted", name, tc.reason, text)
			}
		}
	}
}

func TestAllowedNamespaces(t *testing.T) {
	t.Parallel()
	allowed := must.Get(endpoint.ParseAllowed([]string{"team-a=ssh://*.a.example.org", " team-b=tcp://10.0.0.0/24 "}))(t)
	ofA, ofB := must.Get(endpoint.Parse("ssh://me@x.a.example.org"))(t), must.Get(endpoint.Parse("tcp://10.0.0.9"))(t)
	got := []bool{allowed.Has("team-a", ofA), allowed.Has("team-b", ofB), allowed.Has("team-a", ofB), allowed.Has("team-b", ofA), allowed.Has("", ofA)}
	if diff := cmp.Diff([]bool{true, true, false, false, false}, got); diff != "" {
		t.Errorf("(-want, +got):\n%s", diff)
	}
}

func TestBadPatterns(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "build.example.org", "unix:///run/docker.sock", "http://a", "tcp://", "tcp://a:0", "tcp://a:x", "=tcp://a", "a/b=tcp://a",
		"tcp://*example.org", "tcp://a_b", "tcp://[fd00::]/64", "tcp://*.", "ssh://me@",
	} {
		if _, err := endpoint.ParseAllowed([]string{"tcp://fine", text}); err == nil || !strings.Contains(err.Error(), endpoint.PatternHelp) {
			t.Errorf("%q: %v, want it refused with the form", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, text := range []string{"tcp://a", "ssh://me@[fd00::1]:2222/run/a.sock", "unix:///a", "ssh://a:b@c"} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		at, err := endpoint.Parse(text)
		if err != nil {
			return
		}
		if again, err := endpoint.Parse(at.String()); err != nil || again != at {
			t.Errorf("%q: %v is read again as %v, %v", text, at, again, err)
		}
	})
}
