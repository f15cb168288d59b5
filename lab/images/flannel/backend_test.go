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
	"context"
	"errors"
	"fmt"
	"sync"
	"syscall"
	"testing"

	"github.com/flannel-io/flannel/pkg/backend"
	"github.com/flannel-io/flannel/pkg/subnet"
	"github.com/google/go-cmp/cmp"
)

// kernel is a backend.Manager whose backends end with these errors, one after the
// other, and then register.
type kernel struct {
	errs  map[string][]error
	asked []string
}

func (k *kernel) GetBackend(name string) (backend.Backend, error) {
	return registering(func() error {
		k.asked = append(k.asked, name)
		errs := k.errs[name]
		if len(errs) == 0 {
			return nil
		}
		k.errs[name] = errs[1:]
		return errs[0]
	}), nil
}

type registering func() error

func (r registering) RegisterNetwork(context.Context, *sync.WaitGroup, *subnet.Config) (backend.Network, error) {
	if err := r(); err != nil {
		return nil, err
	}
	return &backend.SimpleNetwork{}, nil
}

func TestRegisterBest(t *testing.T) {
	t.Parallel()
	unsupported := fmt.Errorf("create vxlan device: %w", syscall.EOPNOTSUPP)
	cases := map[string]struct {
		reason string
		errs   map[string][]error
		want   []string
	}{
		"VXLAN":   {"the kernel has it", nil, []string{backendVXLAN}},
		"Routes":  {"the kernel has no VXLAN", map[string][]error{backendVXLAN: {unsupported}}, []string{backendVXLAN, backendRoutes}},
		"Waiting": {"the Node has no Pod CIDR yet", map[string][]error{backendVXLAN: {errors.New("no Pod CIDR")}}, []string{backendVXLAN, backendVXLAN}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			backends := &kernel{errs: tc.errs}
			network, err := registerBest(t.Context(), backends, &subnet.Config{})
			if err != nil || network == nil {
				t.Errorf("%s: network %v, error %v", tc.reason, network, err)
			}
			if diff := cmp.Diff(tc.want, backends.asked); diff != "" {
				t.Errorf("%s (-want, +got):\n%s", tc.reason, diff)
			}
		})
	}
}
