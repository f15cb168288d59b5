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

package userdata

import (
	"bytes"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

var update = flag.Bool("update", false, "write the golden files instead of comparing with them")

func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		must.Succeed(t, os.WriteFile(file, []byte(got), 0o644))
		return
	}
	want := must.Get(os.ReadFile(file))(t)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s (-want +got; go test -update writes it):\n%s", file, diff)
	}
}

func TestAdaptGolden(t *testing.T) {
	t.Parallel()
	sources, err := filepath.Glob("testdata/*.yaml")
	if err != nil || len(sources) == 0 {
		t.Fatalf("no sources: %v", err)
	}
	for _, source := range append(sources, "testdata/script.sh") {
		t.Run(filepath.Base(source), func(t *testing.T) {
			t.Parallel()
			data := must.Get(os.ReadFile(source))(t)
			got := must.Get(adaptKubeadm(data))(t)
			again, err := adaptKubeadm(got)
			if err != nil || !bytes.Equal(got, again) {
				t.Errorf("what is adapted needs nothing more (%v):\n%s", err, cmp.Diff(string(got), string(again)))
			}
			switch filepath.Base(source) {
			case "not-kubeadm.yaml", "cluster-only.yaml", "script.sh":
				if !bytes.Equal(data, got) {
					t.Errorf("it must stay byte for byte:\n%s", cmp.Diff(string(data), string(got)))
				}
			default:
				golden(t, strings.TrimSuffix(source, ".yaml")+".golden", string(got))
			}
		})
	}
}
