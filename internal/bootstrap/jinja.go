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
	"fmt"
	"strings"

	minijinja "github.com/mitsuhiko/minijinja/minijinja-go/v2"
	"github.com/mitsuhiko/minijinja/minijinja-go/v2/syntax"
	"github.com/mitsuhiko/minijinja/minijinja-go/v2/value"
)

const (
	// cloudName is what templates see as the name of cloud and platform.
	cloudName = "container"

	// templateFuel bounds the steps of a template and templateRange the elements of one range: enough for anything that
	// describes a node, and the manager never spins.
	templateFuel  = 100_000
	templateRange = 1_000
	// templateDepth bounds nested blocks and calls.
	templateDepth = 50
)

// render renders a Jinja template as cloud-init does: blocks swallow the line break after them, a last line break is
// kept. Where cloud-init puts a placeholder for a variable that does not exist and goes on, this is an error: a node
// with a placeholder for a name helps nobody.
func render(text string, firstLine int, instance Instance) (rendered string, err error) {
	if !strings.Contains(text, "{{") && !strings.Contains(text, "{%") && !strings.Contains(text, "{#") {
		return text, nil
	}
	// The data's author must not be able to end the manager by a template the library did not expect.
	defer func() {
		if recover() != nil {
			rendered, err = "", &InvalidError{Problem: "the template cannot be rendered"}
		}
	}()
	data := instanceData(instance)
	rendered, err = renderOnce(text, data)
	if err != nil {
		return "", templateError(err, text, firstLine, data)
	}
	return rendered, nil
}

func renderOnce(text string, data map[string]any) (string, error) {
	env := minijinja.NewEnvironment()
	env.SetUndefinedBehavior(minijinja.UndefinedSemiStrict)
	whitespace := syntax.DefaultWhitespace()
	whitespace.TrimBlocks = true
	whitespace.KeepTrailingNewline = true
	env.SetWhitespace(whitespace)
	fuel := uint64(templateFuel)
	env.SetFuel(&fuel)
	env.SetRecursionLimit(templateDepth)
	env.AddFunction("range", boundedRange)
	template, err := env.TemplateFromString(text)
	if err != nil {
		return "", err
	}
	return template.Render(data)
}

// boundedRange is Jinja's range with a bound: fuel counts a range as one step, however long it is.
func boundedRange(_ *minijinja.State, args []value.Value, _ map[string]value.Value) (value.Value, error) {
	bounds := make([]int64, 0, len(args))
	for _, arg := range args {
		n, ok := arg.AsInt()
		if !ok {
			return value.Undefined(), errors.New("range takes numbers")
		}
		bounds = append(bounds, n)
	}
	start, step := int64(0), int64(1)
	var stop int64
	switch len(bounds) {
	case 1:
		stop = bounds[0]
	case 2:
		start, stop = bounds[0], bounds[1]
	case 3:
		start, stop, step = bounds[0], bounds[1], bounds[2]
	default:
		return value.Undefined(), errors.New("range takes one to three numbers")
	}
	var out []value.Value
	for i := start; step > 0 && i < stop || step < 0 && i > stop; i += step {
		if len(out) == templateRange {
			return value.Undefined(), fmt.Errorf("range has more than %d elements", templateRange)
		}
		out = append(out, value.FromInt(i))
	}
	return value.FromSlice(out), nil
}

// templateError says where a template is wrong and never repeats the library's text, which quotes the template.
func templateError(err error, text string, firstLine int, data map[string]any) error {
	invalid := &InvalidError{Problem: "the template cannot be rendered"}
	var failure *minijinja.Error
	if !errors.As(err, &failure) {
		invalid.Problem = "the template is not valid Jinja"
		invalid.Line = lineOf(text, firstLine, func(err error) bool { return !errors.As(err, &failure) }, nil)
		return invalid
	}
	if failure.Span != nil && failure.Span.StartLine > 0 {
		invalid.Line = int(failure.Span.StartLine) + firstLine - 1
	}
	if failure.Kind == minijinja.ErrUndefinedVar {
		invalid.Problem = "the template uses a variable that instance data does not have " +
			"(known are v1.* and ds.meta_data.* of local_hostname, instance_id, region, availability_zone and others)"
		if invalid.Line == 0 {
			invalid.Line = lineOf(text, firstLine, isUndefined, data)
		}
	}
	return invalid
}

func isUndefined(err error) bool {
	var failure *minijinja.Error
	return errors.As(err, &failure) && failure.Kind == minijinja.ErrUndefinedVar
}

// lineOf returns the number of the first line that, rendered alone, fails the same way; 0 when there is none. The
// library does not say where it met an undefined variable, and expressions are nearly always on one line.
func lineOf(text string, firstLine int, same func(error) bool, data map[string]any) int {
	for i, line := range strings.Split(text, "\n") {
		if !strings.Contains(line, "{{") {
			continue
		}
		if _, err := renderOnce(line, data); err != nil && same(err) {
			return i + firstLine
		}
	}
	return 0
}

// instanceData is cloud-init's standard instance data as far as a container has it. As in cloud-init, keys with a
// hyphen have an alias with an underscore, and those of v1 are at the top level too. What a machine may lack is there
// and empty, so that a template can ask for it.
func instanceData(instance Instance) map[string]any {
	metaData := withAliases(map[string]any{
		"instance-id":       instance.ID,
		"local-hostname":    instance.Hostname,
		"hostname":          instance.Hostname,
		"region":            instance.Region,
		"availability-zone": instance.Zone,
		"public-keys":       []string{},
	})
	v1 := withAliases(map[string]any{
		"instance-id":       instance.ID,
		"local-hostname":    instance.Hostname,
		"region":            instance.Region,
		"availability-zone": instance.Zone,
		"cloud-name":        cloudName,
		"cloud-id":          cloudName,
		"platform":          cloudName,
		"subplatform":       cloudName,
		"public-ssh-keys":   []string{},
	})
	data := map[string]any{
		"v1": v1,
		"ds": map[string]any{"meta_data": metaData, "meta-data": metaData},
	}
	for key, value := range v1 {
		data[key] = value
	}
	return data
}

func withAliases(values map[string]any) map[string]any {
	out := make(map[string]any, 2*len(values))
	for key, value := range values {
		out[key] = value
		out[strings.ReplaceAll(key, "-", "_")] = value
	}
	return out
}
