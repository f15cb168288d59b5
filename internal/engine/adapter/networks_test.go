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

package adapter_test

import (
	"context"
	"errors"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestCheckNetwork(t *testing.T) {
	t.Parallel()
	for title, c := range map[string]struct {
		spec engine.NetworkSpec
		want error
	}{
		"a name":    {spec: engine.NetworkSpec{Name: "net", Subnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/24")}}},
		"no name":   {engine.NetworkSpec{}, engine.ErrInvalid},
		"host bits": {engine.NetworkSpec{Name: "net", Subnets: []netip.Prefix{netip.MustParsePrefix("10.0.0.7/24")}}, engine.ErrInvalid},
		"no subnet": {engine.NetworkSpec{Name: "net", Subnets: []netip.Prefix{{}}}, engine.ErrInvalid},
	} {
		if err := adapter.CheckNetwork(c.spec); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", title, err, c.want)
		}
	}
}

func TestCheckAttachment(t *testing.T) {
	t.Parallel()
	eng := simulated.New()
	subnet := netip.MustParsePrefix("10.0.0.0/24")
	must.Get(eng.CreateNetwork(t.Context(), engine.NetworkSpec{Name: "net", Subnets: []netip.Prefix{subnet}}))(t)
	for title, c := range map[string]struct {
		attachment engine.Attachment
		want       error
	}{
		"none":        {},
		"inside":      {attachment: engine.Attachment{Network: "net", Addresses: []netip.Addr{netip.MustParseAddr("10.0.0.7")}}},
		"outside":     {engine.Attachment{Network: "net", Addresses: []netip.Addr{netip.MustParseAddr("10.0.1.7")}}, engine.ErrInvalid},
		"not present": {engine.Attachment{Network: "absent"}, engine.ErrNotFound},
	} {
		if err := adapter.CheckAttachment(t.Context(), eng, c.attachment); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", title, err, c.want)
		}
	}
}

func TestCreateNetwork(t *testing.T) {
	t.Parallel()
	ipv4, ipv6 := netip.MustParsePrefix("10.0.0.0/24"), netip.MustParsePrefix("fd00::/64")
	inUse := netip.MustParsePrefix("fd00:1::/64")
	taken := &engine.ConflictError{Resource: engine.ResourceSubnet}
	cases := map[string]struct {
		reason  string
		subnets []netip.Prefix
		chosen  []engine.Subnet
		// failures is how many choices do not succeed.
		failures int
		// errs are what each attempt to create ends with.
		errs []error
		// created is what each attempt was made with.
		created [][]netip.Prefix
		want    error
	}{
		"named": {
			reason:  "the engine chooses nothing where the spec has an IPv4 subnet",
			subnets: []netip.Prefix{ipv6, ipv4},
			errs:    []error{taken},
			created: [][]netip.Prefix{{ipv6, ipv4}},
			want:    taken,
		},
		"chosen": {
			reason:  "IPv4 first, whatever else the engine chose",
			subnets: []netip.Prefix{ipv6},
			chosen:  []engine.Subnet{{Prefix: inUse}, {Prefix: ipv4}},
			errs:    []error{nil},
			created: [][]netip.Prefix{{ipv4, ipv6}},
		},
		"taken meanwhile": {
			reason:  "another subnet is chosen",
			chosen:  []engine.Subnet{{Prefix: ipv4}},
			errs:    []error{taken, nil},
			created: [][]netip.Prefix{{ipv4}, {ipv4}},
		},
		"not chosen": {
			reason:   "another attempt follows",
			chosen:   []engine.Subnet{{Prefix: ipv4}},
			failures: 2,
			errs:     []error{nil},
			created:  [][]netip.Prefix{{ipv4}},
		},
		"another error": {
			reason:  "another subnet does not help",
			chosen:  []engine.Subnet{{Prefix: ipv4}},
			errs:    []error{engine.ErrUnavailable},
			created: [][]netip.Prefix{{ipv4}},
			want:    engine.ErrUnavailable,
		},
		"in use": {
			reason:  "another IPv4 subnet does not help where a subnet of the spec is in use",
			subnets: []netip.Prefix{inUse},
			want:    engine.ErrConflict,
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng := simulated.New()
			must.Get(eng.CreateNetwork(t.Context(), engine.NetworkSpec{Name: "other", Subnets: []netip.Prefix{inUse}}))(t)
			var created [][]netip.Prefix
			err := adapter.CreateNetwork(t.Context(), eng, engine.NetworkSpec{Name: "net", Subnets: c.subnets}, adapter.SubnetChoice{
				Choose: func(context.Context, string) ([]engine.Subnet, error) {
					if c.failures--; c.failures >= 0 {
						return nil, errors.New("no such network interface")
					}
					return c.chosen, nil
				},
				Create: func(_ context.Context, prefixes []netip.Prefix) error {
					created = append(created, prefixes)
					return c.errs[len(created)-1]
				},
				MayBeTaken: func(err error) bool { return engine.IsTaken(err, engine.ResourceSubnet) },
			})
			if !errors.Is(err, c.want) {
				t.Errorf("%s: %v, want %v", c.reason, err, c.want)
			}
			if diff := cmp.Diff(c.created, created, comparers()); diff != "" {
				t.Errorf("%s (-want +got):\n%s", c.reason, diff)
			}
		})
	}
}

func TestCreateNetworkWithoutChoice(t *testing.T) {
	t.Parallel()
	own := errors.New("no subnet is free")
	for title, c := range map[string]struct {
		chosen []engine.Subnet
		err    error
	}{
		"an error":          {err: own},
		"IPv6 alone":        {chosen: []engine.Subnet{{Prefix: netip.MustParsePrefix("fd00::/64")}}},
		"none concurrently": {},
	} {
		err := adapter.CreateNetwork(t.Context(), simulated.New(), engine.NetworkSpec{Name: "net"}, adapter.SubnetChoice{
			Choose: func(context.Context, string) ([]engine.Subnet, error) { return c.chosen, c.err },
			Create: func(context.Context, []netip.Prefix) error {
				t.Errorf("%s: the network is created", title)
				return nil
			},
		})
		if err == nil || c.err != nil && !errors.Is(err, c.err) {
			t.Errorf("%s: %v, want an error", title, err)
		}
	}
}

func TestExplainCreate(t *testing.T) {
	t.Parallel()
	eng := simulated.New()
	inUse, cause := netip.MustParsePrefix("10.0.0.0/24"), errors.New("cause")
	must.Get(eng.CreateNetwork(t.Context(), engine.NetworkSpec{Name: "other", Subnets: []netip.Prefix{inUse}}))(t)
	for title, c := range map[string]struct {
		prefix          string
		isTaken, isKind bool
	}{
		"the engine says so": {"10.0.1.0/24", true, true},
		"of a network":       {"10.0.0.0/25", false, true},
		"another cause":      {"10.0.1.0/24", false, false},
	} {
		err := adapter.ExplainCreate(t.Context(), eng, []netip.Prefix{netip.MustParsePrefix(c.prefix)}, cause, func(error) bool { return c.isTaken })
		if engine.IsTaken(err, engine.ResourceSubnet) != c.isKind || !errors.Is(err, cause) {
			t.Errorf("%s: %v, want that the subnet is taken: %v", title, err, c.isKind)
		}
	}
	must.Succeed(t, eng.Close())
	if err := adapter.ExplainCreate(t.Context(), eng, []netip.Prefix{inUse}, cause, func(error) bool { return false }); !errors.Is(err, cause) || !errors.Is(err, engine.ErrUnavailable) {
		t.Errorf("an engine that does not answer: %v, want both errors", err)
	}
}
