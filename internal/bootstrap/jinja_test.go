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
)

func TestRender(t *testing.T) {
	t.Parallel()
	instance := Instance{ID: "id-1", Hostname: "node-1", Zone: "zone-a"}
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
		"unset":           {reason: "what a machine may lack is empty", template: "[{{ v1.region }}]{% if not region %} none{% endif %}", want: "[] none"},
		"default":         {reason: "a variable nobody has, with a default", template: "{{ nobody | default('x') }} {{ v1.nobody or 'y' }}", want: "x y"},
		"defined":         {reason: "asking is allowed", template: "{% if nobody is defined %}a{% else %}b{% endif %}", want: "b"},
		"filters":         {reason: "Jinja's filters", template: "{{ local_hostname | upper | replace('-', '_') }}", want: "NODE_1"},
		"blocks":          {reason: "a block takes its line break with it", template: "{% if true %}\na\n{% endif %}\nb\n", want: "a\nb\n"},
		"set":             {reason: "variables of its own", template: "{% set x = local_hostname ~ '!' %}\n{{ x }}\n", want: "node-1!\n"},
		"loop":            {reason: "loops", template: "{% for i in range(3) %}{{ i }}{% endfor %}{% for i in range(4, 0, -2) %}{{ i }}{% endfor %}", want: "01242"},
		"raw":             {reason: "raw text", template: "{% raw %}{{ .Go }}{% endraw %}", want: "{{ .Go }}"},
		"comment":         {reason: "comments", template: "a{# {{ nobody }} #}b", want: "ab"},
		"odd comments":    {reason: "comments that trip parsers", template: "a{#-#}b{##}c", want: "abc"},
		"whitespace":      {reason: "whitespace control", template: "a {{- ' b ' -}} c", want: "a b c"},
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
		"undefined":      {reason: "a placeholder in place of a name helps nobody", template: "a\n{{ ds.meta_data.TOPSECRET }}", line: 3},
		"undefined name": {reason: "the line is named", template: "{{ local_hostname }}\n\n{{ TOPSECRET }}", line: 4},
		"hyphen":         {reason: "to Jinja this is a subtraction", template: "{{ ds.meta_data.local-hostname }}", line: 2},
		"Go template":    {reason: "another template language", template: "\n{{ .TOPSECRET }}", line: 3},
		"open comment":   {reason: "bash's length of an array", template: "${#TOPSECRET[@]}"},
		"open block":     {reason: "no endif", template: "{% if true %}TOPSECRET"},
		"include":        {reason: "the manager's files are none of the template's", template: "{% include '/etc/hostname' %}TOPSECRET"},
		"endless":        {reason: "the manager must not spin", template: "{% for a in range(1000) %}{% for b in range(1000) %}{{ b }}{% endfor %}{% endfor %}"},
		"long range":     {reason: "nor fill its memory", template: "{{ range(100000000) }}"},
		"endless range":  {reason: "a step of zero ends", template: "{{ range(0, 1, 0).x }}"},
		"recursion":      {reason: "nor its stack", template: "{% macro f() %}{{ f() }}{% endmacro %}{{ f() }}"},
		"division":       {reason: "nor end", template: "{{ 1 // 0 }}"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := render(tc.template, 2, Instance{Hostname: "node-1"})
			var invalid *InvalidError
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
