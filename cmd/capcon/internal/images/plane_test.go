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

package images

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestPlaneSkew(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason         string
		image, program string
		want           PlaneSkew
		says           string
	}{
		"same release":    {"There is nothing to do.", "localhost/capcon/plane:v0.2.0", "v0.2.0", PlaneSkew{Plane: "v0.2.0", Program: "v0.2.0"}, ""},
		"earlier release": {"capcon was upgraded.", "localhost/capcon/plane:v0.1.0", "v0.10.0", PlaneSkew{Plane: "v0.1.0", Program: "v0.10.0", Order: -1}, "capcon plane up"},
		"pre-release":     {"It is earlier than its release.", "localhost/capcon/plane:v0.2.0-rc.1", "v0.2.0", PlaneSkew{Plane: "v0.2.0-rc.1", Program: "v0.2.0", Order: -1}, "capcon plane up"},
		"later release":   {"An earlier capcon is used alongside it.", "localhost/capcon/plane:v0.2.0", "v0.1.0", PlaneSkew{Plane: "v0.2.0", Program: "v0.1.0", Order: 1}, "upgrade capcon"},
		"built plane":     {"A build has no order.", "localhost/capcon/plane:dev", "v0.1.0", PlaneSkew{Plane: "dev", Program: "v0.1.0"}, "--plane-image localhost/capcon/plane:v0.1.0"},
		"built capcon":    {"A build has no order.", "localhost/capcon/plane:v0.1.0", "dev", PlaneSkew{Plane: "v0.1.0", Program: "dev"}, "differs"},
		"both built":      {"Their images are compared by ID.", "localhost/capcon/plane:dev", "dev", PlaneSkew{Plane: "dev", Program: "dev"}, ""},
		"in memory":       {"It has an image of its own.", "localhost/capcon/plane-memory:dev", "v0.1.0", PlaneSkew{Plane: "dev", Program: "v0.1.0"}, "--plane-image localhost/capcon/plane-memory:v0.1.0"},
		"other origin":    {"Its user chose it.", "registry.example/plane@sha256:1", "v0.1.0", PlaneSkew{Program: "v0.1.0"}, ""},
		"no plane":        {"There is none.", "", "v0.1.0", PlaneSkew{Program: "v0.1.0"}, ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := skewOf(tc.image, tc.program)
			if diff := cmp.Diff(tc.want, got, cmpopts.IgnoreUnexported(PlaneSkew{})); diff != "" {
				t.Errorf("%s skewOf(%q, %q): -want, +got:\n%s", tc.reason, tc.image, tc.program, diff)
			}
			if says := got.String(); (says == "") != (tc.says == "") || !strings.Contains(says, tc.says) {
				t.Errorf("%s String(): %q, want it to contain %q", tc.reason, says, tc.says)
			}
		})
	}
}
