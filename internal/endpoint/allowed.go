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

package endpoint

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// Allowed are the endpoints that a manager may dial. The zero value has none.
type Allowed struct{ patterns []pattern }

// pattern of endpoints. What is empty matches all, but for the port.
type pattern struct {
	namespace, scheme, user, socket string

	// One of these is set: anyHost, addresses, or host, which begins with "." for the names below it.
	anyHost   bool
	addresses netip.Prefix
	host      string
	// port; 0 = any.
	port uint16
}

// AllowedFlag is the name of the manager's flag that has the patterns.
const AllowedFlag = "allowed-engine-endpoints"

// PatternHelp is the form of a pattern, for the help of a flag.
const PatternHelp = "[NAMESPACE=]SCHEME://[USER@]HOST[:PORT], where HOST is a name, *.DOMAIN, an address, a CIDR or *, " +
	"and PORT is that of the scheme unless it is set, or *"

// ParseAllowed reads patterns, each in the form of PatternHelp.
func ParseAllowed(patterns []string) (Allowed, error) {
	var allowed Allowed
	for _, text := range patterns {
		parsed, err := parsePattern(strings.TrimSpace(text))
		if err != nil {
			return Allowed{}, fmt.Errorf("%q %w; use %s", text, err, PatternHelp)
		}
		allowed.patterns = append(allowed.patterns, parsed)
	}
	return allowed, nil
}

// Has reports whether engines of objects in the namespace may be at the endpoint.
func (a Allowed) Has(namespace string, at Endpoint) bool {
	return slices.ContainsFunc(a.patterns, func(p pattern) bool { return p.has(namespace, at) })
}

func (p pattern) has(namespace string, at Endpoint) bool {
	return orAny(p.namespace, namespace) && p.scheme == at.Scheme && orAny(p.user, at.User) && orAny(p.socket, at.Socket) &&
		(p.port == 0 || p.port == at.Port) && p.hasHost(at.Host)
}

func orAny(wanted, is string) bool { return wanted == "" || wanted == is }

// hasHost: a name is never one of a range of addresses, whatever it resolves to.
func (p pattern) hasHost(host string) bool {
	switch {
	case p.anyHost:
		return true
	case p.addresses.IsValid():
		address, err := netip.ParseAddr(host)
		return err == nil && p.addresses.Contains(address.Unmap())
	case strings.HasPrefix(p.host, "."):
		return strings.HasSuffix(host, p.host) && len(host) > len(p.host)
	default:
		return p.host == host
	}
}

func parsePattern(text string) (pattern, error) {
	var p pattern
	rest := text
	before, after, isOfNamespace := strings.Cut(rest, "=")
	if isOfNamespace {
		if before == "" || strings.ContainsAny(before, ":/@") {
			return p, &Error{"has no valid namespace", "remove the ="}
		}
		p.namespace, rest = before, after
	}
	var found bool
	if p.scheme, rest, found = strings.Cut(rest, "://"); !found || p.scheme != TCP && p.scheme != SSH {
		return p, &Error{"has another scheme than tcp or ssh", "add it"}
	}
	if user, host, found := strings.Cut(rest, "@"); found {
		p.user, rest = user, host
	}
	host, socket := splitSocket(rest)
	p.socket = socket
	host, port, err := splitPort(host, p.scheme)
	if err != nil {
		return p, err
	}
	p.port = port
	err = p.setHost(strings.ToLower(host))
	return p, err
}

// splitSocket: a slash that only a number follows is that of a CIDR.
func splitSocket(rest string) (host, socket string) {
	at := strings.Index(rest, "/")
	if at < 0 {
		return rest, ""
	}
	bits := rest[at+1:]
	end := strings.IndexAny(bits, "/:]")
	if end < 0 {
		end = len(bits)
	}
	if _, err := strconv.Atoi(bits[:end]); err != nil {
		return rest[:at], rest[at:]
	}
	if second := strings.Index(bits, "/"); second >= 0 {
		return rest[:at+1+second], bits[second:]
	}
	return rest, ""
}

// splitPort: an address of IPv6 stands in brackets, with the length of its prefix.
func splitPort(host, scheme string) (string, uint16, error) {
	port := uint16(DefaultTLSPort)
	if scheme == SSH {
		port = DefaultSSHPort
	}
	inside, rest, bracketed := strings.Cut(strings.TrimPrefix(host, "["), "]")
	text, hasPort := strings.CutPrefix(rest, ":")
	if !bracketed || !strings.HasPrefix(host, "[") {
		inside, text, hasPort = strings.Cut(host, ":")
	} else if rest != "" && !hasPort {
		return "", 0, &Error{"has no valid host", "put the length of the prefix into the brackets"}
	}
	switch {
	case !hasPort:
		return inside, port, nil
	case text == "*":
		return inside, 0, nil
	}
	number, err := strconv.ParseUint(text, 10, 16)
	if err != nil || number == 0 {
		return "", 0, &Error{"has a port that is not one", "use a port from 1 to 65535"}
	}
	return inside, uint16(number), nil
}

func (p *pattern) setHost(host string) error {
	prefix, err := netip.ParsePrefix(host)
	switch {
	case host == "*":
		p.anyHost = true
	case err == nil:
		p.addresses = prefix.Masked()
	case strings.HasPrefix(host, "*.") && isHost(host[2:]):
		p.host = host[1:]
	case isHost(host):
		p.host = host
	default:
		return &Error{"has no valid host", "correct it"}
	}
	return nil
}
