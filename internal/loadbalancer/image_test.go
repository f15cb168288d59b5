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

package loadbalancer_test

import (
	"errors"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestChooseImage(t *testing.T) {
	t.Parallel()
	const mine = "r.example/haproxy:3"
	for name, tc := range map[string]struct {
		reason  string
		present []engine.Image
		named   string
		want    string
	}{
		"Named":     {"Its user chose it.", []engine.Image{{Tags: []string{loadbalancer.BuiltImage}}}, mine, mine},
		"Published": {"What is there is not replaced by another.", []engine.Image{{Digests: []string{loadbalancer.DefaultImage}}, {Tags: []string{loadbalancer.BuiltImage}}}, loadbalancer.DefaultImage, loadbalancer.DefaultImage},
		"Offline":   {"No registry is needed.", []engine.Image{{Tags: []string{loadbalancer.BuiltImage}}}, loadbalancer.DefaultImage, loadbalancer.BuiltImage},
		"Neither":   {"A registry has it.", nil, loadbalancer.DefaultImage, loadbalancer.DefaultImage},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := simulated.New()
			for _, image := range tc.present {
				e.AddImage(image, nil)
			}
			if got := must.Get(loadbalancer.ChooseImage(t.Context(), e, tc.named))(t); got != tc.want {
				t.Errorf("%s Got %s, want %s", tc.reason, got, tc.want)
			}
		})
	}
	e := simulated.New()
	e.Down()
	if _, err := loadbalancer.ChooseImage(t.Context(), e, loadbalancer.DefaultImage); !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("an engine that does not answer: %v", err)
	}
}
