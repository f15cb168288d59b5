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

package input

import (
	"errors"

	"github.com/spf13/pflag"
)

// kinds of flags, by the names that pflag has for them: what a value of another kind is not, and
// what to use.
var kinds = map[string]struct{ reason, remedy string }{
	"int":      {"not a whole number", "use a number, such as 3"},
	"bool":     {"neither true nor false", "use the flag without a value, or with =false"},
	"duration": {"not a duration", "use a number with a unit, such as 90s, 10m or 1h"},
}

// ExplainFlag says what is wrong with the value of a flag in words of this command line, not in those of
// the function that parses it. Other errors are returned as they are.
func ExplainFlag(err error) error {
	invalid := new(pflag.InvalidValueError)
	if !errors.As(err, &invalid) {
		return err
	}
	kind, known := kinds[invalid.GetFlag().Value.Type()]
	if !known {
		return err
	}
	return Refuse(Problem{Field: "--" + invalid.GetFlag().Name, Value: invalid.GetValue(), Reason: kind.reason, Remedy: kind.remedy})
}
