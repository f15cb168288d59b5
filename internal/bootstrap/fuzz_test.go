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
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/script"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func FuzzParse(f *testing.F) {
	addSources(f, "testdata/archive/*.yaml", "userdata/testdata/*.yaml")
	f.Add([]byte("## template: jinja\n#cloud-config\nruncmd: ['{{ v1.region.split(\"-\")[0] }}{% raw %}{{ x }}{%- endraw -%}{# #}']\n"))
	f.Add([]byte("#cloud-config\nusers: [&a {name: b, <<: *a}]\nwrite_files: [{path: /x, <<: {content: y}}]\n"))
	for _, attack := range attacks(f) {
		f.Add(attack)
	}
	f.Fuzz(func(t *testing.T, data []byte) { fuzzFormat(t, data, userdata.FormatCloudConfig) })
}

func addSources(f *testing.F, patterns ...string) {
	f.Helper()
	for _, pattern := range patterns {
		for _, source := range must.Get(filepath.Glob(pattern))(f) {
			f.Add(must.Get(os.ReadFile(source))(f))
		}
	}
}

func FuzzParseIgnition(f *testing.F) {
	addSources(f, "testdata/archive/*.json")
	f.Add([]byte(`{"ignition": {"version": "2.3.0"}, "passwd": {"users": [{"name": "a", "uid": 1}], "groups": [{"name": "g"}]},
		"systemd": {"units": [{"name": "a.service", "enabled": true}]}}`))
	f.Add(compressed(f, "["+strings.Repeat("1,", 1<<21)+"1]"))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzFormat(t, data, userdata.FormatIgnition) })
}

// Limits of the bytes that the manager allocates for one Secret, in all. What is compressed may have all the values and
// bytes that are allowed.
var (
	parseLimit      = must.Limit{Base: 32 << 20, PerByte: 2 << 10, Most: 192 << 20}
	compressedLimit = must.Limit{Base: 192 << 20}
	useLimit        = must.Limit{Base: 1 << 30}
)

// fuzzFormat holds for all data of a format: it is read within its limits, and what is accepted can be adapted, once
// and for all, and archived.
func fuzzFormat(t *testing.T, data []byte, format string) {
	t.Helper()
	var config userdata.Config
	var err error
	limit := parseLimit
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		limit = compressedLimit
	}
	must.StayWithin(t, len(data), limit, func() {
		config, err = Parse(data, format, userdata.Instance{ID: "i", Hostname: "h"})
	})
	if err != nil {
		return
	}
	must.StayWithin(t, len(data), useLimit, func() { use(t, config) })
}

func use(t *testing.T, config userdata.Config) {
	t.Helper()
	_ = config.Secrets()
	_ = config.KubeadmOperation()
	_ = config.ExternalCloudProvider()
	adapted, err := config.Adapt()
	if err != nil {
		return
	}
	again, err := adapted.Adapt()
	if err != nil {
		t.Fatalf("what Adapt returned is broken: %v", err)
	}
	for i, file := range adapted.Files {
		if !bytes.Equal(file.Content, again.Files[i].Content) {
			t.Errorf("adapting twice is not adapting once:\n%q\n%q", file.Content, again.Files[i].Content)
		}
	}
	if _, err := script.Archive(script.Input{Config: adapted}); err != nil {
		t.Errorf("what Parse accepts can be archived: %v", err)
	}
}
