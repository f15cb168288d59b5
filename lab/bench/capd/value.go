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

package main

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// value is one measured figure.
type value struct {
	number float64
	// limit is set where what was waited for did not come; number is infinite.
	limit time.Duration
}

func number[N int | int64 | float64](n N) value { return value{number: float64(n)} }

func seconds(d time.Duration) value { return value{number: d.Seconds()} }

func never(limit time.Duration) value { return value{number: math.Inf(1), limit: limit} }

// MarshalJSON and UnmarshalJSON keep a value between two runs: JSON has no
// infinite numbers.
func (v value) MarshalJSON() ([]byte, error) {
	if v.limit > 0 {
		return json.Marshal("never in " + v.limit.String())
	}
	return json.Marshal(v.number)
}

// UnmarshalJSON is the other half of MarshalJSON.
func (v *value) UnmarshalJSON(content []byte) error {
	if content[0] != '"' {
		return json.Unmarshal(content, &v.number)
	}
	limit, err := time.ParseDuration(strings.TrimPrefix(strings.Trim(string(content), `"`), "never in "))
	*v = never(limit)
	return err
}

func (v value) String() string {
	switch {
	case v.limit > 0:
		return fmt.Sprintf("never (within %.0f s)", v.limit.Seconds())
	case v.number >= 100:
		return strconv.FormatFloat(v.number, 'f', 0, 64)
	default:
		return strconv.FormatFloat(v.number, 'f', 1, 64)
	}
}

// median of an even number of values is the mean of the two in the middle.
func median(values []value) (value, bool) {
	if len(values) == 0 {
		return value{}, false
	}
	sorted := slices.SortedFunc(slices.Values(values), func(a, b value) int {
		switch {
		case a.number < b.number:
			return -1
		case a.number > b.number:
			return 1
		default:
			return 0
		}
	})
	high := sorted[len(sorted)/2]
	if len(sorted)%2 == 1 || high.limit > 0 {
		return high, true
	}
	low := sorted[len(sorted)/2-1]
	return value{number: (low.number + high.number) / 2}, true
}
