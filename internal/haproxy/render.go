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
	"crypto/sha256"
	_ "embed"
	"encoding/hex"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"text/template"
)

// What the process is started with, and the paths of requests to it.
const (
	// ConfigPath of the configuration; that of the stock image.
	ConfigPath = "/usr/local/etc/haproxy/haproxy.cfg"
	// StatusPort on 127.0.0.1 of the load balancer's own network namespace
	// answers GenerationPath and StatisticsPath, read-only.
	StatusPort = 8405
	// GenerationPath answers the generation of the configuration that the
	// answering process runs with.
	GenerationPath = "/generation"
	// StatisticsPath answers haproxy's statistics as CSV.
	StatisticsPath = statisticsPrefix + ";csv"

	statisticsPrefix = "/stats"
)

const (
	// OpenFiles is the RLIMIT_NOFILE of the process. It must be
	// set: engines' defaults run from 1024 to 1073741816, and haproxy sizes
	// its tables by what it gets. 10000 fits under the hard limits seen on
	// restricted hosts (20000; a maxconn of 100000 needs 200030 and does not
	// start there).
	OpenFiles = 10000
	// maxConnections is the limit of connections through a load balancer. Each takes two
	// descriptors, which leaves 2000 for health checks, listeners and the two processes' pipes during a reload. A node
	// keeps some ten connections to the API server, so it is enough for
	// hundreds of nodes.
	// +limit
	maxConnections = 4000
	// threads bounds memory on hosts with many cores: forwarding the bytes
	// of one API server keeps less than one busy.
	threads = 2
	// hardStopAfter lets watches that were opened before a reload live on in
	// the old process: those of Kubernetes' own clients end by themselves
	// after ten minutes at most.
	hardStopAfter = "15m"
	// maxReloads bounds the memory of old processes: one that saw more
	// reloads than this is ended with the connections it has left. Changing
	// all machines of a control plane takes some twenty.
	maxReloads = 50
	// sourcesPerLine leaves a line below haproxy's limits of 64 words and 2047 characters.
	sourcesPerLine = 32
)

// generationPlaceholder stands where the generation goes while it is being
// computed, so that the hash covers every other byte of the text.
const generationPlaceholder = "@generation@"

// generationDigits is how many hexadecimal digits distinguish two
// configurations: 64 bits, not for secrecy.
const generationDigits = 16

//go:embed haproxy.cfg.tmpl
var configTemplate string

// Render returns the configuration as text. Equal configurations give equal
// texts, whatever the order of the backends. A value that cannot be written
// safely: *InvalidError.
func Render(config Config) (string, error) {
	config, err := config.normalized()
	if err != nil {
		return "", err
	}
	parsed, err := template.New("haproxy.cfg").Parse(configTemplate)
	if err != nil {
		return "", fmt.Errorf("parse haproxy template: %w", err)
	}
	var text strings.Builder
	if err := parsed.Execute(&text, view(config)); err != nil {
		return "", fmt.Errorf("render haproxy configuration: %w", err)
	}
	sum := sha256.Sum256([]byte(text.String()))
	generation := hex.EncodeToString(sum[:])[:generationDigits]
	return strings.Replace(text.String(), generationPlaceholder, generation, 1), nil
}

// Generation returns the generation that a text of Render carries: a hash
// of all the rest of it. Empty where the text carries none.
func Generation(text string) string {
	const before, after = "http-request return status 200 content-type text/plain string ", " if { path " + GenerationPath + " }\n"
	_, rest, found := strings.Cut(text, before)
	if !found {
		return ""
	}
	generation, _, found := strings.Cut(rest, after)
	if !found {
		return ""
	}
	return generation
}

// templateServer is a backend as the template prints it.
type templateServer struct {
	Name     string
	Endpoint netip.AddrPort
	Weight   int
}

// templateFrontend is a frontend as the template prints it.
type templateFrontend struct {
	Name, Balance string
	Binds         []string
	// Relay are the lines of a RelayPort, which haproxy ignores.
	Relay []string
	// Sources are lists of ranges, each short enough for a line.
	Sources                           []string
	Check                             Check
	Fallback, ShutDown, ProxyProtocol bool
	Backends                          []templateServer
}

// templateValues are what the template prints.
type templateValues struct {
	Frontends                                      []templateFrontend
	HardStopAfter                                  string
	MaxReloads, MaxConnections, OpenFiles, Threads int
	StatusPort                                     int
	Generation, GenerationPath, StatisticsPrefix   string
}

func view(config Config) templateValues {
	values := templateValues{
		HardStopAfter:    hardStopAfter,
		MaxReloads:       maxReloads,
		MaxConnections:   maxConnections,
		OpenFiles:        OpenFiles,
		Threads:          threads,
		StatusPort:       StatusPort,
		Generation:       generationPlaceholder,
		GenerationPath:   GenerationPath,
		StatisticsPrefix: statisticsPrefix,
	}
	for _, frontend := range config.Frontends {
		values.Frontends = append(values.Frontends, viewFrontend(config.Family, frontend))
	}
	return values
}

func viewFrontend(family Family, frontend Frontend) templateFrontend {
	values := templateFrontend{
		Name: frontend.Name, Binds: binds(family, frontend.Port), Check: frontend.Check, Fallback: !frontend.Strict && !frontend.UDP, Balance: "leastconn",
		ProxyProtocol: frontend.ProxyProtocol,
	}
	if frontend.UDP {
		values.Relay = relayPort(family, frontend).lines()
	}
	if frontend.Sticky {
		// Consistent: a backend that comes or goes moves few clients.
		values.Balance = "source\n    hash-type consistent"
	}
	for line := range slices.Chunk(frontend.Sources, sourcesPerLine) {
		sources := make([]string, 0, len(line))
		for _, source := range line {
			sources = append(sources, source.String())
		}
		values.Sources = append(values.Sources, strings.Join(sources, " "))
	}
	receiving := 0
	for _, backend := range frontend.Backends {
		values.Backends = append(values.Backends, templateServer{
			Name:     backend.Name,
			Endpoint: netip.AddrPortFrom(backend.Address, backend.Port),
			Weight:   backend.Weight,
		})
		if backend.Weight > 0 {
			receiving++
		}
	}
	// Clients of a server that went down should reconnect to another one
	// immediately; where there is no other, cutting them off would only do harm.
	values.ShutDown = receiving > 1
	return values
}

// binds are the listeners. "v4v6" on one socket is what haproxy has for both
// families; where the kernel has no IPv6 that socket cannot be made, so it is
// only asked for when wanted.
func binds(family Family, frontendPort uint16) []string {
	port := strconv.Itoa(int(frontendPort))
	switch family {
	case FamilyIPv6:
		return []string{":::" + port + " v6only"}
	case FamilyDual:
		return []string{":::" + port + " v4v6"}
	default:
		return []string{"0.0.0.0:" + port}
	}
}
