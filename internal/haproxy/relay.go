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
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
)

// RelayPort is a UDP port that a relay alongside haproxy listens on, which has no UDP itself. A
// configuration has it in comments: one text is checked, stored and read back, and has one
// generation. The servers of the port are those of haproxy's statistics with its name.
type RelayPort struct {
	// Name of the Frontend.
	Name string
	// Network to listen on, as Go names it: udp4, udp6, or udp for both.
	Network string
	Port    uint16
	// Sources are the clients that may send; none means all.
	Sources []netip.Prefix
	// Sticky sends the datagrams of a client's address to the same backend.
	Sticky bool
	// Strict drops datagrams while no backend passes its check.
	Strict bool
}

const (
	relayListen, relaySource = "#relay listen", "#relay source"
	relaySticky, relayStrict = "sticky", "strict"
)

// ErrRelay says that the lines of a relay are not those of Render.
var ErrRelay = errors.New("invalid line of the relay")

func relayPort(family Family, frontend Frontend) RelayPort {
	networks := map[Family]string{FamilyIPv4: "udp4", FamilyIPv6: "udp6", FamilyDual: "udp"}
	return RelayPort{
		Name: frontend.Name, Network: networks[family], Port: frontend.Port,
		Sources: frontend.Sources, Sticky: frontend.Sticky, Strict: frontend.Strict,
	}
}

func (p RelayPort) lines() []string {
	words := []string{relayListen, p.Name, p.Network, strconv.Itoa(int(p.Port))}
	if p.Sticky {
		words = append(words, relaySticky)
	}
	if p.Strict {
		words = append(words, relayStrict)
	}
	lines := []string{strings.Join(words, " ")}
	for chunk := range slices.Chunk(p.Sources, sourcesPerLine) {
		words := []string{relaySource, p.Name}
		for _, source := range chunk {
			words = append(words, source.String())
		}
		lines = append(lines, strings.Join(words, " "))
	}
	return lines
}

// ParseRelay reads the ports of a relay out of a text of Render. Lines that Render does not
// write: ErrRelay.
func ParseRelay(text string) ([]RelayPort, error) {
	var ports []RelayPort
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) < 2 || words[0] != "#relay" {
			continue
		}
		var err error
		switch kind := words[0] + " " + words[1]; {
		case kind == relayListen:
			var port RelayPort
			port, err = parseListen(words[2:])
			ports = append(ports, port)
		case kind == relaySource && len(ports) > 0 && len(words) > 2 && words[2] == ports[len(ports)-1].Name:
			last := &ports[len(ports)-1]
			last.Sources, err = parseSources(last.Sources, words[3:])
		default:
			err = ErrRelay
		}
		if err != nil {
			return nil, fmt.Errorf("read %q: %w", strings.TrimSpace(line), err)
		}
	}
	return ports, nil
}

func parseListen(words []string) (RelayPort, error) {
	if len(words) < 3 {
		return RelayPort{}, ErrRelay
	}
	number, err := strconv.ParseUint(words[2], 10, 16)
	if err != nil {
		return RelayPort{}, fmt.Errorf("%w: %w", ErrRelay, err)
	}
	port := RelayPort{Name: words[0], Network: words[1], Port: uint16(number)}
	for _, word := range words[3:] {
		switch word {
		case relaySticky:
			port.Sticky = true
		case relayStrict:
			port.Strict = true
		default:
			return RelayPort{}, ErrRelay
		}
	}
	return port, nil
}

func parseSources(sources []netip.Prefix, words []string) ([]netip.Prefix, error) {
	for _, word := range words {
		source, err := netip.ParsePrefix(word)
		if err != nil {
			return nil, fmt.Errorf("%w: %w", ErrRelay, err)
		}
		sources = append(sources, source)
	}
	return sources, nil
}
