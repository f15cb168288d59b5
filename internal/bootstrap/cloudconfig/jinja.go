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
	"regexp"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/reader"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

// cloudName is what templates see as the name of cloud and platform.
const cloudName = "container"

// The parts of Jinja that bootstrap data for Cluster API uses: a lookup in the instance data, part of its value, a
// literal, text that is no template, and comments. There are no variables, loops and filters: each of them lets a
// template of some bytes grow beyond all memory.
var (
	jinjaTag = regexp.MustCompile(`\{[{%#]`)
	// jinjaExpression has the groups literal in ' and ", path, separator of split in ' and ", its index, end.
	jinjaExpression = regexp.MustCompile(`^\{\{[-+]?\s*(?:'([^'\\]*)'|"([^"\\]*)"|` +
		`([A-Za-z_]\w*(?:\.[A-Za-z_]\w*|\['[\w-]+'\]|\["[\w-]+"\])*?)(?:\.split\((?:'([^'\\]+)'|"([^"\\]+)")\)\[(\d)\])?)\s*(-?\}\})`)
	jinjaRawBegin = regexp.MustCompile(`^\{%[-+]?\s*raw\s*(-?%\})`)
	jinjaRawEnd   = regexp.MustCompile(`\{%[-+]?\s*endraw\s*([-+]?%\})`)
	jinjaComment  = regexp.MustCompile(`^\{#(?s:.*?)([-+]?#\})`)
	// jinjaKey is a key in brackets.
	jinjaKey = regexp.MustCompile(`\[['"]([\w-]+)['"]\]`)
)

// render renders a Jinja template as cloud-init does: blocks and comments swallow the line break after them, a last
// line break is kept. Where cloud-init puts a placeholder for a variable that does not exist, this is an error: a node
// whose name is a placeholder is of no use.
func render(text string, firstLine int, instance userdata.Instance) (string, error) {
	t := &jinja{rest: text, data: instanceData(instance)}
	for {
		at := jinjaTag.FindStringIndex(t.rest)
		if at == nil {
			t.out.WriteString(t.rest)
			return t.out.String(), nil
		}
		t.skip(at[0])
		problem := t.tag()
		if t.out.Len() > reader.MaxDecodedBytes {
			problem = reader.ErrTooLarge.Error()
		}
		if problem != "" {
			done := len(text) - len(t.rest)
			return "", &reader.InvalidError{Line: firstLine + strings.Count(text[:done], "\n"), Problem: problem}
		}
	}
}

// jinja is a template that is being rendered.
type jinja struct {
	data map[string]string
	rest string
	out  strings.Builder
}

// skip writes the next n bytes, which come before a tag.
func (t *jinja) skip(n int) {
	text, tag := t.rest[:n], t.rest[n:]
	if len(tag) > 2 && tag[2] == '-' {
		text = strings.TrimRight(text, whitespace)
	}
	t.out.WriteString(text)
	t.rest = tag
}

const whitespace = " \t\r\n\f\v"

// tag renders the tag that the rest begins with. What is wrong with it is in words that do not quote it.
func (t *jinja) tag() (problem string) {
	switch t.rest[1] {
	case '{':
		match := jinjaExpression.FindStringSubmatch(t.rest)
		if match == nil {
			return "unsupported expression in the template; " +
				`use {{ v1.name }}, {{ ds.meta_data.name }}, {{ ds.meta_data['name'] }}, {{ v1.name.split(".")[0] }} or {{ 'text' }}`
		}
		value, found := t.evaluate(match)
		if !found {
			return "unknown variable in the template; instance data has v1.* and ds.meta_data.* of " +
				"local_hostname, instance_id, region and availability_zone"
		}
		t.out.WriteString(value)
		t.next(match[0], match[7], false)
	case '#':
		match := jinjaComment.FindStringSubmatch(t.rest)
		if match == nil {
			return "unterminated comment in the template"
		}
		t.next(match[0], match[1], true)
	default:
		return t.raw()
	}
	return ""
}

// raw writes text that is not a template.
func (t *jinja) raw() (problem string) {
	begin := jinjaRawBegin.FindStringSubmatch(t.rest)
	if begin == nil {
		return "unsupported block in the template; only {% raw %} is supported"
	}
	rest := t.rest[len(begin[0]):]
	end := jinjaRawEnd.FindStringSubmatchIndex(rest)
	if end == nil {
		return "{% raw %} without {% endraw %} in the template"
	}
	t.next(begin[0], begin[1], false)
	t.skip(len(t.rest) - len(rest) + end[0])
	t.next(rest[end[0]:end[1]], rest[end[2]:end[3]], true)
	return ""
}

// next goes behind a tag. A minus in its end takes all whitespace along, and otherwise the end of a block one line break.
func (t *jinja) next(tag, end string, isBlock bool) {
	t.rest = t.rest[len(tag):]
	switch {
	case strings.HasPrefix(end, "-"):
		t.rest = strings.TrimLeft(t.rest, whitespace)
	case isBlock && !strings.HasPrefix(end, "+"):
		t.rest = strings.TrimPrefix(t.rest, "\n")
	}
}

// evaluate returns the value of an expression, whose parts are those of jinjaExpression.
func (t *jinja) evaluate(match []string) (value string, found bool) {
	path, separator := match[3], match[4]+match[5]
	if path == "" {
		return match[1] + match[2], true
	}
	// As in cloud-init, keys with a hyphen have an alias with an underscore.
	path = strings.ReplaceAll(jinjaKey.ReplaceAllString(path, ".$1"), "-", "_")
	if value, found = t.data[path]; !found || separator == "" {
		return value, found
	}
	parts, index := strings.Split(value, separator), int(match[6][0]-'0')
	if index >= len(parts) {
		return "", false
	}
	return parts[index], true
}

// instanceData is cloud-init's standard instance data as far as a container has it. As in cloud-init, the keys of v1
// are at the top level too. What a machine may lack is there and empty.
func instanceData(instance userdata.Instance) map[string]string {
	data := map[string]string{"ds.meta_data.hostname": instance.Hostname}
	for key, value := range map[string]string{
		"instance_id":       instance.ID,
		"local_hostname":    instance.Hostname,
		"region":            instance.Region,
		"availability_zone": instance.Zone,
	} {
		data[key], data["v1."+key], data["ds.meta_data."+key] = value, value, value
	}
	for _, key := range []string{"cloud_name", "cloud_id", "platform", "subplatform"} {
		data[key], data["v1."+key] = cloudName, cloudName
	}
	return data
}
