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

package haproxy

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestParseStatistics(t *testing.T) {
	t.Parallel()
	const header = "# pxname,svname,type,status,weight,check_status,check_code,scur,addr,\n"
	cases := map[string]struct {
		reason string
		text   string
		want   []Server
		err    error
	}{
		"Up": {
			reason: "A server that passes is up.",
			text:   header + "control-plane,b,2,UP,100,L7OK,200,4,10.0.0.2:6443,\ncontrol-plane,a,2,UP 1/3,100,* L7OK,401,0,10.0.0.1:6443,\n",
			want: []Server{
				{Frontend: "control-plane", Name: "a", Address: "10.0.0.1:6443", Status: StatusUp, Weight: 100, Check: "L7OK", CheckCode: 401},
				{Frontend: "control-plane", Name: "b", Address: "10.0.0.2:6443", Status: StatusUp, Weight: 100, Check: "L7OK", CheckCode: 200},
			},
		},
		"Drain": {
			reason: "A server that an administrator drains is up.",
			text:   header + "control-plane,a,2,DRAIN,0,L7OK,200,1,10.0.0.1:6443,\n",
			want:   []Server{{Frontend: "control-plane", Name: "a", Address: "10.0.0.1:6443", Status: StatusDrain, Check: "L7OK", CheckCode: 200}},
		},
		"Unknown": {
			reason: "Before the first check haproxy says UP and knows nothing.",
			text:   header + "control-plane,a,2,UP,100,INI,,0,10.0.0.1:6443,\ncontrol-plane,b,2,no check,100,,,0,10.0.0.2:6443,\n",
			want: []Server{
				{Frontend: "control-plane", Name: "a", Address: "10.0.0.1:6443", Weight: 100, Check: "INI"},
				{Frontend: "control-plane", Name: "b", Address: "10.0.0.2:6443", Weight: 100},
			},
		},
		"Others": {
			reason: "Sums and other proxies are no servers of ours.",
			text:   header + "control-plane,FRONTEND,0,OPEN,,,,0,,\ncontrol-plane,BACKEND,0,UP,200,,,0,,\ncontrol-plane-unready,a,2,no check,100,,,0,10.0.0.1:6443,\n",
		},
		"Empty":      {reason: "An empty answer is none.", err: ErrStatistics},
		"Text":       {reason: "Another server's page is none.", text: "<html>\n", err: ErrStatistics},
		"Number":     {reason: "A weight is a number.", text: header + "control-plane,a,2,UP,x,L7OK,,0,,\n", err: ErrStatistics},
		"Quotes":     {reason: "A broken line is reported.", text: header + "control-plane,\"a,UP\n", err: ErrStatistics},
		"ShortLines": {reason: "A line cut off lacks its numbers.", text: header + "control-plane,a,2,UP\n", want: []Server{{Frontend: "control-plane", Name: "a"}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ParseStatistics([]byte(tc.text))
			if !errors.Is(err, tc.err) {
				t.Fatalf("%s\nParseStatistics: error %v, want %v", tc.reason, err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nParseStatistics: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func TestParseStatisticsOfVersions(t *testing.T) {
	t.Parallel()
	want := []Server{
		{Frontend: "control-plane", Name: "n0", Address: "10.0.0.2:6443", Status: StatusDown, Weight: 100, Check: "L7STS", CheckCode: 426},
		{Frontend: "control-plane", Name: "n1", Address: "10.0.0.3:6443", Status: StatusDown, Weight: 100, Check: "L7STS", CheckCode: 426},
	}
	for _, version := range []string{"2.6", "3.0"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			text := must.Get(os.ReadFile(filepath.Join("testdata", "statistics-"+version+".csv")))(t)
			got := must.Get(ParseStatistics(text))(t)
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("ParseStatistics: -want +got:\n%s", diff)
			}
		})
	}
}

func TestStatusUp(t *testing.T) {
	t.Parallel()
	for status, want := range map[Status]bool{
		StatusUp: true, StatusDrain: true, StatusDown: false, StatusUnknown: false, "MAINT": false, "NOLB": false,
	} {
		if got := status.Up(); got != want {
			t.Errorf("%q.Up() = %t, want %t", status, got, want)
		}
	}
}
