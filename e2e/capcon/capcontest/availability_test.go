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

package capcontest

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestOutages(t *testing.T) {
	t.Parallel()
	began := time.Now()
	at := func(seconds int) time.Time { return began.Add(time.Duration(seconds) * time.Second) }
	failed, other := errors.New("refused"), errors.New("timeout")
	tests := map[string]struct {
		requests []request
		want     []Outage
	}{
		"none":             {requests: []request{{at(0), nil}, {at(1), nil}}},
		"one":              {requests: []request{{at(0), nil}, {at(1), failed}, {at(2), other}, {at(3), nil}, {at(4), nil}}, want: []Outage{{at(1), 2 * time.Second, 2, failed, true}}},
		"in another order": {requests: []request{{at(3), nil}, {at(0), nil}, {at(2), other}, {at(1), failed}}, want: []Outage{{at(1), 2 * time.Second, 2, failed, true}}},
		"two, the last of which lasts": {
			requests: []request{{at(0), failed}, {at(1), nil}, {at(2), other}, {at(5), failed}},
			want:     []Outage{{at(0), time.Second, 1, failed, true}, {at(2), 3 * time.Second, 2, other, false}},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(test.want, outages(test.requests), cmpopts.EquateErrors()); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
