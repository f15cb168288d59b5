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
	"strings"
)

const (
	// FullWeight is the weight of a backend that takes its share of new
	// connections; all full backends share alike.
	FullWeight = 100
	// maxWeight is haproxy's own limit.
	maxWeight = 256
	// MaxBackends is the limit of backends of one port: of control planes, which are seven at most and some more during
	// a rollout, and of the nodes behind a Service.
	// +limit
	MaxBackends = 256
	// MaxFrontends is the limit of ports of one load balancer. It bounds the text and the health checks.
	// +limit
	MaxFrontends = 64
	// MaxSources is the limit of source ranges of one port. It bounds the text: each port repeats them.
	// +limit
	MaxSources = 1000
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

// Config is the desired configuration of a load balancer.
type Config struct {
	// Family to listen on; empty means FamilyIPv4.
	Family Family
	// Frontends in any order, each with another name, and with another port or protocol.
	Frontends []Frontend
}

// Frontend is a port that clients connect to, and the backends that their connections
// are balanced over.
type Frontend struct {
	// Name of the frontend, and of its backends in the statistics.
	Name string
	// UDP says that clients send datagrams. A RelayPort takes them; haproxy has the health checks
	// of the backends alone.
	UDP bool
	// Port that clients connect to; must be set and not be StatusPort.
	Port uint16
	// Sources are the clients that may connect; none means all.
	Sources []netip.Prefix
	// Sticky sends the connections of a client's address to the same backend. Otherwise
	// the backend with the fewest connections takes a new one.
	Sticky bool
	// ProxyProtocol sends a header of version 2 at the beginning of each connection, with the
	// address of the client. Health checks have none.
	ProxyProtocol bool
	// Check decides which backends take connections.
	Check Check
	// Strict refuses connections while no backend passes its check. Otherwise all
	// backends take them: the check may be what does not work.
	Strict bool
	// Backends in any order; none is allowed, connections are then refused.
	Backends []Backend
}

// Check is a health check of backends.
type Check struct {
	// Path of an HTTP request; empty means that a TCP connection is enough.
	Path string
	// Statuses that pass, such as "200" or "200,401". Required with a Path.
	Statuses string
	// TLS without verification.
	TLS bool
	// Port of the request; 0 means that of the backend.
	Port uint16
}

// ControlPlaneName is the name of the frontend that ControlPlane returns.
const ControlPlaneName = "control-plane"

// ControlPlane is the frontend of API servers. Those that are not ready take connections
// when none is, so that clients get their answer.
func ControlPlane(port uint16, backends []Backend) Frontend {
	return Frontend{
		Name: ControlPlaneName, Port: port, Backends: backends,
		// 401: anonymous access is off, and the API server answers.
		Check: Check{Path: "/readyz", Statuses: "200,401", TLS: true},
	}
}

// Backend is one server behind a Frontend.
type Backend struct {
	// Name is unique among the backends of a frontend, such as that of a node's container.
	Name string
	// Address without a zone; names are never resolved.
	Address netip.Addr
	// Port of the server.
	Port uint16
	// Weight is the share of new connections, 0 to 256; 0 gives it no new
	// connection, and leaves those it has.
	Weight int
}

// InvalidError says which value of a Config cannot be rendered.
type InvalidError struct {
	// Field of Config, such as "frontends[0].backends[0].name".
	Field string
	// Value of the field.
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

var (
	pathPattern     = regexp.MustCompile(`^(/[a-z]+)?$`)
	statusesPattern = regexp.MustCompile(`^([1-5][0-9]{2}(,[1-5][0-9]{2})*)?$`)
)

// normalized returns a copy of the configuration with frontends and backends in order
// of their names, or an *InvalidError.
func (c Config) normalized() (Config, error) {
	switch c.Family {
	case "":
		c.Family = FamilyIPv4
	case FamilyIPv4, FamilyIPv6, FamilyDual:
	default:
		return Config{}, &InvalidError{Field: "family", Value: string(c.Family), Reason: "must be IPv4, IPv6 or Dual"}
	}
	if count := len(c.Frontends); count == 0 || count > MaxFrontends {
		return Config{}, &InvalidError{Field: "frontends", Value: fmt.Sprint(count), Reason: fmt.Sprintf("must be 1 to %d", MaxFrontends)}
	}
	c.Frontends = slices.Clone(c.Frontends)
	slices.SortFunc(c.Frontends, func(a, b Frontend) int { return cmp.Compare(a.Name, b.Name) })
	type address struct {
		port  uint16
		isUDP bool
	}
	ports := map[address]bool{}
	for i, frontend := range c.Frontends {
		field := fmt.Sprintf("frontends[%d]", i)
		if i > 0 && c.Frontends[i-1].Name == frontend.Name {
			return Config{}, &InvalidError{Field: field + ".name", Value: frontend.Name, Reason: "is used twice"}
		}
		listens := address{port: frontend.Port, isUDP: frontend.UDP}
		if ports[listens] {
			return Config{}, &InvalidError{Field: field + ".port", Value: fmt.Sprint(frontend.Port), Reason: "is used twice"}
		}
		ports[listens] = true
		var err error
		if c.Frontends[i], err = frontend.normalized(field); err != nil {
			return Config{}, err
		}
	}
	return c, nil
}

func (f Frontend) normalized(field string) (Frontend, error) {
	switch {
	case !namePattern.MatchString(f.Name):
		return Frontend{}, &InvalidError{Field: field + ".name", Value: f.Name, Reason: "must match " + namePattern.String()}
	case f.Name == statusName || strings.HasSuffix(f.Name, fallbackSuffix):
		return Frontend{}, &InvalidError{Field: field + ".name", Value: f.Name, Reason: "is reserved"}
	case f.Port == 0 || f.Port == StatusPort:
		return Frontend{}, &InvalidError{Field: field + ".port", Value: fmt.Sprint(f.Port), Reason: fmt.Sprintf("must be set and not be %d", StatusPort)}
	case f.UDP && f.ProxyProtocol:
		return Frontend{}, &InvalidError{Field: field + ".proxyProtocol", Value: "true", Reason: "must not be set for UDP"}
	case !pathPattern.MatchString(f.Check.Path):
		return Frontend{}, &InvalidError{Field: field + ".check.path", Value: f.Check.Path, Reason: "must match " + pathPattern.String()}
	case !statusesPattern.MatchString(f.Check.Statuses) || (f.Check.Statuses == "") != (f.Check.Path == ""):
		return Frontend{}, &InvalidError{Field: field + ".check.statuses", Value: f.Check.Statuses, Reason: "must match " + statusesPattern.String() + ", and be set with the path alone"}
	case len(f.Backends) > MaxBackends:
		return Frontend{}, &InvalidError{Field: field + ".backends", Value: fmt.Sprint(len(f.Backends)), Reason: fmt.Sprintf("must be at most %d", MaxBackends)}
	}
	if count := len(f.Sources); count > MaxSources {
		return Frontend{}, &InvalidError{Field: field + ".sources", Value: fmt.Sprint(count), Reason: fmt.Sprintf("must be at most %d", MaxSources)}
	}
	for i, source := range f.Sources {
		if !source.IsValid() {
			return Frontend{}, &InvalidError{Field: fmt.Sprintf("%s.sources[%d]", field, i), Value: source.String(), Reason: "must be in CIDR notation"}
		}
	}
	f.Backends = slices.Clone(f.Backends)
	slices.SortFunc(f.Backends, func(a, b Backend) int { return cmp.Compare(a.Name, b.Name) })
	for i, backend := range f.Backends {
		field := fmt.Sprintf("%s.backends[%d]", field, i)
		if err := backend.validate(field); err != nil {
			return Frontend{}, err
		}
		f.Backends[i].Address = backend.Address.Unmap()
		if i > 0 && f.Backends[i-1].Name == backend.Name {
			return Frontend{}, &InvalidError{Field: field + ".name", Value: backend.Name, Reason: "is used twice"}
		}
	}
	return f, nil
}

// IsMachine reports whether an address can be that of a Backend: it is of one machine,
// another than the load balancer's own.
func IsMachine(address netip.Addr) bool {
	return address.IsValid() && !address.IsUnspecified() && !address.IsMulticast() && !address.IsLoopback()
}

func (b Backend) validate(field string) error {
	switch {
	case !namePattern.MatchString(b.Name):
		return &InvalidError{Field: field + ".name", Value: b.Name, Reason: "must match " + namePattern.String()}
	case !IsMachine(b.Address):
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
