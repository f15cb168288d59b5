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

package haproxy

import (
	"cmp"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
)

const (
	// FullWeight is the weight of a backend that takes its share of new
	// connections; all full backends share alike.
	FullWeight = 100
	// maxWeight is haproxy's own limit.
	maxWeight = 256
	// maxBackends is the limit of control planes behind one load balancer, and so of its configuration. A control plane
	// has seven machines at most, as etcd does; the rest is room for a rollout.
	// +limit
	maxBackends = 64
)

// Family is the address family a load balancer listens on.
type Family string

// The families. The zero value means FamilyIPv4.
const (
	FamilyIPv4 Family = "IPv4"
	FamilyIPv6 Family = "IPv6"
	// FamilyDual listens on both.
	FamilyDual Family = "Dual"
)

// Config is what a load balancer shall do.
type Config struct {
	// Port that clients connect to; must be set and not be StatusPort.
	Port uint16
	// Family to listen on; empty means FamilyIPv4.
	Family Family
	// Backends in any order; none is allowed, connections are then refused.
	Backends []Backend
}

// Backend is one API server.
type Backend struct {
	// Name is unique among the backends: the name of the node's container.
	Name string
	// Address without a zone; names are never resolved.
	Address netip.Addr
	// Port of the API server.
	Port uint16
	// Weight is the share of new connections, 0 to 256; 0 gives it no new
	// connection, and leaves those it has.
	Weight int
}

// InvalidError says which value of a Config cannot be rendered.
type InvalidError struct {
	// Field of Config, such as "backends[0].name".
	Field string
	// Value as given.
	Value string
	// Reason is what is wrong with it.
	Reason string
}

// Error implements error. The value is quoted: it may hold line breaks.
func (e *InvalidError) Error() string {
	return fmt.Sprintf("invalid %s %q: %s", e.Field, e.Value, e.Reason)
}

// namePattern is a name of one line and one word in haproxy's syntax: no
// space, quote, comment, escape or variable can be written with it.
var namePattern = regexp.MustCompile(`^[a-zA-Z0-9][a-zA-Z0-9_.-]{0,252}$`)

// normalised returns a copy of the configuration with its backends in order
// of their names, or an *InvalidError.
func (c Config) normalised() (Config, error) {
	if c.Port == 0 || c.Port == StatusPort {
		return Config{}, &InvalidError{Field: "port", Value: fmt.Sprint(c.Port), Reason: fmt.Sprintf("must be set and not be %d", StatusPort)}
	}
	switch c.Family {
	case "":
		c.Family = FamilyIPv4
	case FamilyIPv4, FamilyIPv6, FamilyDual:
	default:
		return Config{}, &InvalidError{Field: "family", Value: string(c.Family), Reason: "must be IPv4, IPv6 or Dual"}
	}
	if len(c.Backends) > maxBackends {
		return Config{}, &InvalidError{Field: "backends", Value: fmt.Sprint(len(c.Backends)), Reason: fmt.Sprintf("must be %d at most", maxBackends)}
	}
	c.Backends = slices.Clone(c.Backends)
	slices.SortFunc(c.Backends, func(a, b Backend) int { return cmp.Compare(a.Name, b.Name) })
	for i, backend := range c.Backends {
		if err := backend.validate(fmt.Sprintf("backends[%d]", i)); err != nil {
			return Config{}, err
		}
		c.Backends[i].Address = backend.Address.Unmap()
		if i > 0 && c.Backends[i-1].Name == backend.Name {
			return Config{}, &InvalidError{Field: fmt.Sprintf("backends[%d].name", i), Value: backend.Name, Reason: "is used twice"}
		}
	}
	return c, nil
}

func (b Backend) validate(field string) error {
	switch {
	case !namePattern.MatchString(b.Name):
		return &InvalidError{Field: field + ".name", Value: b.Name, Reason: "must match " + namePattern.String()}
	case !b.Address.IsValid() || b.Address.IsUnspecified() || b.Address.IsMulticast():
		return &InvalidError{Field: field + ".address", Value: b.Address.String(), Reason: "must be an address of one machine"}
	case b.Address.Zone() != "":
		// A zone is free text and would be written into the line.
		return &InvalidError{Field: field + ".address", Value: b.Address.String(), Reason: "must not have a zone"}
	case b.Port == 0:
		return &InvalidError{Field: field + ".port", Value: "0", Reason: "must be set"}
	case b.Weight < 0 || b.Weight > maxWeight:
		return &InvalidError{Field: field + ".weight", Value: fmt.Sprint(b.Weight), Reason: fmt.Sprintf("must be 0 to %d", maxWeight)}
	}
	return nil
}
