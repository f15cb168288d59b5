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
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/reader"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestRender(t *testing.T) {
	t.Parallel()
	instance := userdata.Instance{ID: "id-1", Hostname: "node-1", Zone: "zone-a"}
	cases := map[string]struct {
		reason   string
		template string
		want     string
	}{
		"meta data":       {reason: "what Cluster API's documents use", template: "{{ ds.meta_data.local_hostname }}", want: "node-1"},
		"hyphen":          {reason: "keys as they are", template: "{{ ds.meta_data['local-hostname'] }} {{ ds['meta_data'][\"instance-id\"] }}", want: "node-1 id-1"},
		"hostname":        {reason: "EC2's name for it", template: "{{ ds.meta_data.hostname }}", want: "node-1"},
		"v1":              {reason: "the standard keys", template: "{{ v1.local_hostname }} {{ v1.instance_id }} {{ v1.availability_zone }}", want: "node-1 id-1 zone-a"},
		"top level":       {reason: "v1 is at the top level too", template: "{{ local_hostname }} {{instance_id}} {{ cloud_name }}", want: "node-1 id-1 container"},
		"unset":           {reason: "what a machine may lack is empty", template: "[{{ v1.region }}]", want: "[]"},
		"split":           {reason: "a part of a name, as GCP's clusters have it", template: `{{ ds.meta_data.availability_zone.split("-")[1] }} {{ v1.local_hostname.split('.')[0] }}`, want: "a node-1"},
		"literal":         {reason: "marks of templates in text", template: `{{ '{{' }} .Go {{ "}}" }}`, want: "{{ .Go }}"},
		"raw":             {reason: "raw text", template: "{% raw %}\n{{ .Go }}{# x #}{% endraw %}\n{%- raw -%} a {%- endraw +%}\nb", want: "\n{{ .Go }}{# x #}a\nb"},
		"comment":         {reason: "comments", template: "a{# {{ undefined }} #}b", want: "ab"},
		"comment's line":  {reason: "a comment takes its line break with it", template: "{# a\n#}\nb\n", want: "b\n"},
		"odd comments":    {reason: "comments that trip parsers", template: "a{#-#}b{##}c", want: "abc"},
		"whitespace":      {reason: "whitespace control", template: "a {{- ' b ' -}} c {#- #} d", want: "a b c d"},
		"last line break": {reason: "it stays, however many", template: "{{ local_hostname }}\n\n", want: "node-1\n\n"},
		"no escaping":     {reason: "this is no HTML", template: "{{ '<&\"' }}", want: "<&\""},
		"no template":     {reason: "text without marks stays", template: "}} %} #} { { {x", want: "}} %} #} { { {x"},
		"unicode":         {reason: "text is text", template: "ü {{ local_hostname }} 漢", want: "ü node-1 漢"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := render(tc.template, 2, instance)
			if err != nil {
				t.Fatalf("%s: %v", tc.reason, err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestRenderInvalid(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason   string
		template string
		line     int
	}{
		"undefined":      {reason: "a placeholder in place of a name is of no use", template: "a\n{{ ds.meta_data.TOPSECRET }}", line: 3},
		"undefined name": {reason: "the line is named", template: "{{ local_hostname }}\n\n{{ TOPSECRET }}", line: 4},
		"hyphen":         {reason: "to Jinja this is a subtraction", template: "{{ ds.meta_data.local-hostname }}", line: 2},
		"Go template":    {reason: "another template language", template: "\n{{ .TOPSECRET }}", line: 3},
		"open comment":   {reason: "bash's length of an array", template: "\n${#TOPSECRET[@]}", line: 3},
		"number":         {reason: "data without an end", template: "{{ 1", line: 2},
		"set":            {reason: "a variable can be doubled without end", template: "a\n{% set a = a ~ a %}TOPSECRET", line: 3},
		"loop":           {reason: "a loop can spin without end", template: "{% for a in range(1000) %}TOPSECRET{% endfor %}", line: 2},
		"condition":      {reason: "no blocks but raw", template: "{% if region %}TOPSECRET{% endif %}", line: 2},
		"include":        {reason: "the manager's files are none of the template's", template: "{% include '/etc/hostname' %}TOPSECRET", line: 2},
		"filter":         {reason: "nothing is changed", template: "{{ local_hostname | upper }}", line: 2},
		"operator":       {reason: "nothing is computed", template: "{{ local_hostname ~ 'TOPSECRET' }}", line: 2},
		"map":            {reason: "a map is no text", template: "{{ ds.meta_data }}", line: 2},
		"split beyond":   {reason: "there is no such part", template: "{{ v1.local_hostname.split('.')[7] }}", line: 2},
		"open raw":       {reason: "raw text that does not end", template: "{% raw %}TOPSECRET", line: 2},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := render(tc.template, 2, userdata.Instance{Hostname: "node-1"})
			var invalid *reader.InvalidError
			if !errors.As(err, &invalid) {
				t.Fatalf("%s: got error %v, want an *InvalidError", tc.reason, err)
			}
			if strings.Contains(err.Error(), canary) {
				t.Errorf("%s: the error repeats the data: %v", tc.reason, err)
			}
			if tc.line != 0 && invalid.Line != tc.line {
				t.Errorf("%s: line %d, want %d", tc.reason, invalid.Line, tc.line)
			}
		})
	}
}

// FuzzRender proves that a template grows by no more than the values it has, and that no error quotes it.
func FuzzRender(f *testing.F) {
	for _, text := range []string{
		"{{ ds.meta_data.local_hostname }}", "{{ v1['instance-id'].split(\"-\")[1] -}} x {#- y #}\n{% raw %}{{ z }}{%- endraw +%}\n",
		"{% set a = a ~ a %}", "{{ '{{' }}{{ \"}}\" }}", "{% for a in range(9) %}{{ a }}{% endfor %}",
	} {
		f.Add(text)
	}
	instance := userdata.Instance{ID: "id-1", Hostname: strings.Repeat("h", 63), Region: strings.Repeat("r", 63), Zone: strings.Repeat("z", 256)}
	f.Fuzz(func(t *testing.T, text string) {
		must.StayWithin(t, len(text), must.Limit{Base: 4 << 20, PerByte: 256}, func() {
			got, err := render(text, 1, instance)
			var invalid *reader.InvalidError
			switch {
			case err != nil && !errors.As(err, &invalid):
				t.Errorf("untyped error: %v", err)
			case err == nil && len(got) > 20*len(text):
				t.Errorf("%d bytes became %d", len(text), len(got))
			}
		})
	})
}
