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

package bootstrap

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/reader"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

func TestParse(t *testing.T) {
	t.Parallel()
	got, err := Parse(compressed(t, "#cloud-config\nruncmd: [x]\n"), "", userdata.Instance{})
	if diff := cmp.Diff(userdata.Config{Commands: []userdata.Command{{Shell: "x"}}}, got); diff != "" || err != nil {
		t.Errorf("compressed data is like other data: error %v (-want +got):\n%s", err, diff)
	}
	for _, format := range []string{userdata.FormatCloudConfig, userdata.FormatIgnition} {
		for _, data := range []string{"", " \n\n", "\x1f\x8bTOPSECRET", "TOPSECRET"} {
			_, err := Parse([]byte(data), format, userdata.Instance{})
			var invalid *reader.InvalidError
			if !errors.As(err, &invalid) || strings.Contains(err.Error(), "TOPSECRET") {
				t.Errorf("%q as %s: got error %v, want an *InvalidError that does not quote it", data, format, err)
			}
		}
	}
	const want = `bootstrap data format "Ignition" is not supported; use cloud-config or ignition`
	if _, err := Parse([]byte("{}"), "Ignition", userdata.Instance{}); err == nil || err.Error() != want {
		t.Errorf("got error %v, want %s", err, want)
	}
}
