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
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/test/budget"
)

func FuzzParse(f *testing.F) {
	for _, pattern := range []string{"testdata/archive/*.yaml", "testdata/kubeadm/*.yaml"} {
		sources, err := filepath.Glob(pattern)
		if err != nil {
			f.Fatal(err)
		}
		for _, source := range sources {
			data, err := os.ReadFile(source)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(data)
		}
	}
	f.Add([]byte("## template: jinja\n#cloud-config\nruncmd: ['{{ v1.region.split(\"-\")[0] }}{% raw %}{{ x }}{%- endraw -%}{# #}']\n"))
	f.Add([]byte("#cloud-config\nusers: [&a {name: b, <<: *a}]\nwrite_files: [{path: /x, <<: {content: y}}]\n"))
	for _, attack := range attacks(f) {
		f.Add(attack)
	}
	f.Fuzz(func(t *testing.T, data []byte) { fuzzFormat(t, data, FormatCloudConfig) })
}

// FuzzRender proves that a template grows by no more than the values it has, and that no error quotes it.
func FuzzRender(f *testing.F) {
	for _, text := range []string{
		"{{ ds.meta_data.local_hostname }}", "{{ v1['instance-id'].split(\"-\")[1] -}} x {#- y #}\n{% raw %}{{ z }}{%- endraw +%}\n",
		"{% set a = a ~ a %}", "{{ '{{' }}{{ \"}}\" }}", "{% for a in range(9) %}{{ a }}{% endfor %}",
	} {
		f.Add(text)
	}
	instance := Instance{ID: "id-1", Hostname: strings.Repeat("h", 63), Region: strings.Repeat("r", 63), Zone: strings.Repeat("z", 256)}
	f.Fuzz(func(t *testing.T, text string) {
		budget.Check(t, len(text), budget.Limit{Base: 4 << 20, PerByte: 256}, func() {
			got, err := render(text, 1, instance)
			var invalid *InvalidError
			switch {
			case err != nil && !errors.As(err, &invalid):
				t.Errorf("untyped error: %v", err)
			case err == nil && len(got) > 20*len(text):
				t.Errorf("%d bytes became %d", len(text), len(got))
			}
		})
	})
}

func FuzzParseIgnition(f *testing.F) {
	sources, err := filepath.Glob("testdata/archive/*.json")
	if err != nil || len(sources) == 0 {
		f.Fatalf("no sources: %v", err)
	}
	for _, source := range sources {
		data, err := os.ReadFile(source)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Add(ignitionData(`"passwd": {"users": [{"name": "a", "uid": 1}], "groups": [{"name": "g"}]}`))
	f.Add(compressed(f, "["+strings.Repeat("1,", 1<<21)+"1]"))
	f.Fuzz(func(t *testing.T, data []byte) { fuzzFormat(t, data, FormatIgnition) })
}

// Limits of the bytes that the manager allocates for one Secret, in all. What is compressed may have all the values and
// bytes that are allowed.
var (
	parseLimit      = budget.Limit{Base: 32 << 20, PerByte: 2 << 10, Most: 192 << 20}
	compressedLimit = budget.Limit{Base: 192 << 20}
	useLimit        = budget.Limit{Base: 1 << 30}
)

// fuzzFormat holds for all data of a format: it is read within its limits, and what is accepted can be adapted, once
// and for all, and archived.
func fuzzFormat(t *testing.T, data []byte, format string) {
	t.Helper()
	var config Config
	var err error
	limit := parseLimit
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		limit = compressedLimit
	}
	budget.Check(t, len(data), limit, func() {
		config, err = Parse(data, format, Instance{ID: "i", Hostname: "h"})
	})
	if err != nil {
		return
	}
	budget.Check(t, len(data), useLimit, func() { use(t, config) })
}

func use(t *testing.T, config Config) {
	t.Helper()
	_ = config.Secrets()
	_ = config.KubeadmOperation()
	_ = config.ExternalCloudProvider()
	adapted, err := config.Adapt(ContainerAdaptation())
	if err != nil {
		return
	}
	again, err := adapted.Adapt(ContainerAdaptation())
	if err != nil {
		t.Fatalf("what Adapt returned is broken: %v", err)
	}
	for i, file := range adapted.Files {
		if !bytes.Equal(file.Content, again.Files[i].Content) {
			t.Errorf("adapting twice is not adapting once:\n%q\n%q", file.Content, again.Files[i].Content)
		}
	}
	if _, err := Archive(Input{Config: adapted}); err != nil {
		t.Errorf("what Parse accepts can be archived: %v", err)
	}
}

func FuzzRedact(f *testing.F) {
	const token = "abcdef.0123456789abcdef"
	f.Add("before", "after", "a secret line")
	f.Add("-----BEGIN X-----\n", "\n-----END X-----", "password=1")
	f.Fuzz(func(t *testing.T, before, after, secret string) {
		var got string
		log := before + "\n" + secret + "\n" + token + "\n" + after
		budget.Check(t, len(log)+len(secret), budget.Limit{Base: 1 << 20, PerByte: 256}, func() { got = Redact(log, secret) })
		if strings.Contains(got, token) {
			t.Errorf("the token is left in %q", got)
		}
		if strings.TrimSpace(secret) != "" && !strings.Contains(redacted, secret) && strings.Contains(got, secret) &&
			strings.Contains(strings.ReplaceAll(got, redacted, ""), secret) {
			t.Errorf("the secret %q is left in %q", secret, got)
		}
	})
}

func FuzzReadRecord(f *testing.F) {
	f.Add([]byte("not a tar"))
	f.Add(make([]byte, 1024))
	f.Fuzz(func(t *testing.T, data []byte) {
		var result Result
		var err error
		budget.Check(t, len(data), budget.Limit{Base: 4 << 20, PerByte: 256, Most: 16 << 20}, func() {
			result, err = ReadRecord(bytes.NewReader(data))
		})
		if err != nil && result.State != NotStarted {
			t.Errorf("an error comes without a result: %+v", result)
		}
		if message := result.Message(); len(message) > maxMessageBytes {
			t.Errorf("a message of %d bytes", len(message))
		}
	})
}

// FuzzQuote proves that the shell gives back every word as it was.
func FuzzQuote(f *testing.F) {
	for _, word := range []string{"", "'", "a b", "$(id)", "\\", "\n", "-n", "'\\''", "ü"} {
		f.Add(word)
	}
	f.Fuzz(func(t *testing.T, word string) {
		if strings.ContainsRune(word, 0) {
			t.Skip("refused by Parse and Archive")
		}
		command := Command{Args: []string{"printf", "%s", word}}
		out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", command.shell()).Output()
		if err != nil || string(out) != word {
			t.Errorf("got %q %v, want %q", out, err, word)
		}
	})
}
