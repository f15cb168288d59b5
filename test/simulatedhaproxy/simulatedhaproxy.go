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

// Package simulatedhaproxy is what runs in a load balancer's container on the
// simulated engine: a process that loads its file when it starts and when it
// is signaled, and answers with its generation and statistics.
package simulatedhaproxy

import (
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network/lan"
)

// Processes are the load balancers of one engine.
type Processes struct {
	engine *simulated.Engine

	mutex  sync.Mutex
	loaded map[string]string
	// stale are the configurations of relays that ignore signals.
	stale   map[string]string
	health  map[string]haproxy.Status
	reach   func(netip.Addr) lan.Reach
	refused string
	reloads int
	ignored int
}

// Run lets every load balancer of the engine behave as haproxy does. Other
// containers print nothing.
func Run(eng *simulated.Engine) *Processes {
	p := &Processes{engine: eng, loaded: map[string]string{}, health: map[string]haproxy.Status{}}
	eng.OnStart(p.load)
	eng.HandleExec(p.Exec)
	return p
}

// SetHealth of a backend; StatusUp where none is set.
func (p *Processes) SetHealth(backend string, status haproxy.Status) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.health[backend] = status
}

// SetReach says how far requests to other hosts get that the containers of this engine send; by default, all have responses.
func (p *Processes) SetReach(reach func(netip.Addr) lan.Reach) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.reach = reach
}

// Refuse makes the check of every configuration answer the message; empty
// ends that.
func (p *Processes) Refuse(message string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.refused = message
}

// Reloads is how often a process was signaled to load its file.
func (p *Processes) Reloads() int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.reloads
}

// Ignore the next signals, of that number.
func (p *Processes) Ignore(signals int) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.ignored = signals
}

// Load makes the process in a container run with a configuration; with an empty one it does
// not listen.
func (p *Processes) Load(container, text string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.loaded[container] = text
}

// Loaded is the configuration that the process in a container runs with.
func (p *Processes) Loaded(container string) string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.loaded[container]
}

// FreezeRelays makes the relays keep the configuration that they have, until ThawRelays.
func (p *Processes) FreezeRelays() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.stale = maps.Clone(p.loaded)
}

// ThawRelays lets the relays use the configuration of their container.
func (p *Processes) ThawRelays() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.stale = nil
}

// relayed is the configuration that the relay of a container uses.
func (p *Processes) relayed(container string) string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	if p.stale != nil {
		return p.stale[container]
	}
	return p.loaded[container]
}

// Weights of the backends that the process in a container uses.
func (p *Processes) Weights(container string) map[string]int {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	weights := map[string]int{}
	for _, server := range servers(p.loaded[container]) {
		weights[server.Name] = server.Weight
	}
	return weights
}

// Reads reports whether a call only asks a process how it does.
func Reads(call simulated.Call) bool {
	return call.Method == "Exec" && (asks(call.Command) || checks(call.Command))
}

func asks(args []string) bool    { return contains(args, "/dev/tcp/") }
func checks(args []string) bool  { return contains(args, "haproxy -c") }
func reloads(args []string) bool { return contains(args, "kill -USR2") }

func contains(args []string, part string) bool {
	return slices.ContainsFunc(args, func(arg string) bool { return strings.Contains(arg, part) })
}

// load is what the process does at its start.
func (p *Processes) load(container string) {
	text, err := p.engine.ReadFile(container, haproxy.ConfigPath)
	if err != nil {
		// Not a load balancer.
		return
	}
	p.Load(container, string(text))
}

// Exec handles the commands that run in a load balancer's container, for a test that
// handles those of other containers itself.
func (p *Processes) Exec(container string, command engine.Command) (engine.Output, error) {
	switch {
	case p.isProbe(container):
		return p.probe(command.Args), nil
	case asks(command.Args):
		stored, _ := p.engine.ReadFile(container, haproxy.ConfigPath)
		response, err := p.answer(container)
		if contains(command.Args, "/dev/udp/") {
			response = haproxy.Generation(p.relayed(container)) + "\n" + response
		}
		return engine.Output{Stdout: []byte(response), Stderr: stored}, err
	case checks(command.Args):
		p.mutex.Lock()
		defer p.mutex.Unlock()
		if p.refused != "" {
			return engine.Output{Stderr: []byte("[ALERT] (1) : " + p.refused)}, &engine.ExitError{Code: 1}
		}
	case reloads(command.Args):
		p.mutex.Lock()
		p.reloads++
		p.ignored--
		ignored := p.ignored >= 0
		p.mutex.Unlock()
		if !ignored {
			p.load(container)
		}
	}
	return engine.Output{}, nil
}

func (p *Processes) isProbe(container string) bool {
	observed, err := p.engine.Observe(container)
	return err == nil && identity.Role(observed.Labels[identity.LabelRole]) == identity.RoleProbe
}

// probe is what a container prints that asks those of other hosts: a line for each step of each request.
func (p *Processes) probe(args []string) engine.Output {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var text strings.Builder
	for _, arg := range args {
		address, err := netip.ParseAddr(arg)
		if err != nil {
			continue
		}
		reached := lan.Responds
		if p.reach != nil {
			reached = p.reach(address)
		}
		for step := lan.Connects; step <= reached; step++ {
			fmt.Fprintf(&text, "%s %d\n", address, step)
		}
	}
	return engine.Output{Stdout: []byte(text.String())}
}

// answer is both responses in one connection.
func (p *Processes) answer(container string) (string, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	text := p.loaded[container]
	if text == "" {
		return "", &engine.ExitError{Code: 1}
	}
	if haproxy.Generation(text) == "" {
		// A user who edits the file may leave the listener and remove what it answers.
		const missing = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
		return missing + missing, nil
	}
	var statistics strings.Builder
	statistics.WriteString("# pxname,svname,type,status,weight,check_status,check_code,scur,addr,\n")
	for _, server := range servers(text) {
		status, known := p.health[server.Name]
		if !known {
			status = haproxy.StatusUp
		}
		check := "L7OK"
		switch {
		case status == haproxy.StatusUnknown:
			status, check = "UP", "INI"
		case status == haproxy.StatusUp && server.Weight == 0:
			status = haproxy.StatusDrain
		}
		fmt.Fprintf(&statistics, "%s,%s,2,%s,%d,%s,200,0,%s,\n", server.Frontend, server.Name, status, server.Weight, check, server.Address)
	}
	return response(haproxy.Generation(text)) + response(statistics.String()), nil
}

func response(body string) string {
	return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
}

// servers reads those of the configuration that are health-checked.
func servers(text string) []haproxy.Server {
	var found []haproxy.Server
	section := ""
	for line := range strings.Lines(text) {
		words := strings.Fields(line)
		if len(words) == 2 && words[0] == "backend" {
			section = words[1]
		}
		if strings.HasSuffix(section, "-unready") || len(words) < 5 || words[0] != "server" {
			continue
		}
		weight, err := strconv.Atoi(words[4])
		if err != nil {
			continue
		}
		found = append(found, haproxy.Server{Frontend: section, Name: words[1], Address: words[2], Weight: weight})
	}
	return found
}
