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

package script

import (
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

func TestArchiveInvalid(t *testing.T) {
	t.Parallel()
	cases := map[string]Input{
		"flag with a blank":  {KubeletFlags: []string{"--a=b c"}},
		"flag with a quote":  {KubeletFlags: []string{`--a="b"`}},
		"no flag":            {KubeletFlags: []string{"a"}},
		"line break in path": {Config: userdata.Config{Files: []userdata.File{{Path: "/a\nb"}}}},
		"line break in user": {Config: userdata.Config{Users: []userdata.User{{Name: "a", PasswordHash: "x\nroot:y"}}}},
		"line break in ID":   {Instance: userdata.Instance{ID: "a\nb"}},
	}
	for name, in := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := Archive(in); err == nil {
				t.Error("what would break out of its line must be refused")
			}
		})
	}
}
