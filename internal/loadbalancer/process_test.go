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
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/loadbalancer"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const testImage = "localhost/haproxy:test"

var testOwner = identity.Owner{Namespace: "default", Cluster: "demo", ID: "one"}

// process plays haproxy in a simulated container: it reads its file when it
// starts and when it is signaled, and answers what the real one does.
type process struct {
	mu     sync.Mutex
	engine *simulated.Engine
	name   string
	// text it runs with; empty = it does not listen.
	text string
	// status of every backend; empty means UP.
	status haproxy.Status
	// deaf ignores the next signals, of that number.
	deaf    int
	reloads int
	// reject is what the check of a configuration says, if not that it is
	// valid.
	reject string
}

// newProcess returns an engine with network and image, on which containers
// run haproxy.
func newProcess(t *testing.T) (*simulated.Engine, *process) {
	t.Helper()
	eng := simulated.New()
	eng.AddImage(engine.Image{Tags: []string{testImage}}, nil)
	must.Get(network.Ensure(t.Context(), eng, network.Request{Subnets: []netip.Prefix{netip.MustParsePrefix("10.7.0.0/24")}}))(t)
	p := &process{engine: eng, name: testOwner.LoadBalancerContainer()}
	eng.OnStart(func(name string) {
		if name == p.name {
			p.load()
		}
	})
	eng.HandleExec(p.exec)
	return eng, p
}

// load takes over the stored file.
func (p *process) load() {
	content, err := p.engine.ReadFile(p.name, haproxy.ConfigPath)
	if err != nil {
		return
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text = string(content)
}

func (p *process) exec(_ string, command engine.Command) (engine.Output, error) {
	line := strings.Join(command.Args, " ")
	switch {
	case strings.Contains(line, "kill -USR2 1"):
		p.mu.Lock()
		p.reloads++
		deaf := p.deaf > 0
		p.deaf--
		p.mu.Unlock()
		if !deaf {
			p.load()
		}
		return engine.Output{}, nil
	case strings.Contains(line, "haproxy -c"):
		if p.reject != "" {
			return engine.Output{Stderr: []byte(p.reject)}, &engine.ExitError{Code: 1}
		}
		return engine.Output{}, nil
	case strings.Contains(line, "/dev/tcp/127.0.0.1/8405"):
		output, err := p.answer()
		output.Stderr, _ = p.engine.ReadFile(p.name, haproxy.ConfigPath)
		return output, err
	default:
		return engine.Output{}, &engine.ExitError{Code: 127}
	}
}

func (p *process) answer() (engine.Output, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.text == "" {
		return engine.Output{}, &engine.ExitError{Code: 1}
	}
	csv := "# pxname,svname,type,status,weight,check_status,check_code,scur,addr,\n"
	section := ""
	for line := range strings.Lines(p.text) {
		_, _ = fmt.Sscanf(strings.TrimSpace(line), "backend %s", &section)
		var name, address string
		var weight int
		if _, err := fmt.Sscanf(strings.TrimSpace(line), "server %s %s weight %d", &name, &address, &weight); err != nil {
			continue
		}
		check := "L7OK"
		if strings.HasSuffix(section, "-unready") {
			check = ""
		}
		status := cmp.Or(p.status, haproxy.StatusUp)
		csv += fmt.Sprintf("%s,%s,2,%s,%d,%s,200,0,%s,\n", section, name, status, weight, check, address)
	}
	if haproxy.Generation(p.text) == "" {
		// A user who edits the file may leave the listener and remove what it answers.
		const missing = "HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n"
		return engine.Output{Stdout: []byte(missing + missing)}, nil
	}
	respond := func(body string) string {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	return engine.Output{Stdout: []byte(respond(haproxy.Generation(p.text)) + respond(csv))}, nil
}

func (p *process) reloaded() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reloads
}

func spec() loadbalancer.Spec {
	return loadbalancer.Spec{
		Owner: testOwner, Image: testImage, Network: network.DefaultName, HostPorts: map[uint16]uint16{6443: 0}, Config: controlPlane(6443, nil),
	}
}

// machines are control planes named by their letters.
func machines(letters string) []loadbalancer.Machine {
	var out []loadbalancer.Machine
	for _, letter := range letters {
		out = append(out, loadbalancer.Machine{
			Container: string(letter), Address: netip.AddrFrom4([4]byte{10, 7, 0, byte(letter)}), Port: 6443,
		})
	}
	return out
}

func config(letters string) haproxy.Config {
	return controlPlane(6443, loadbalancer.Backends(machines(letters), loadbalancer.State{}))
}

// ensured is a load balancer that runs.
func ensured(t *testing.T) (*simulated.Engine, *process, loadbalancer.State) {
	t.Helper()
	eng, p := newProcess(t)
	state := must.Get(ensure(t.Context(), eng, spec()))(t)
	return eng, p, state
}

// ensure is Ensure of what is there.
func ensure(ctx context.Context, eng network.Engine, spec loadbalancer.Spec) (loadbalancer.State, error) {
	found, err := loadbalancer.Inspect(ctx, eng, spec.Name())
	if err != nil {
		return loadbalancer.State{}, err
	}
	return loadbalancer.Ensure(ctx, eng, spec, found)
}

// synchronize is Sync of what is there.
func synchronize(ctx context.Context, eng engine.Engine, name string, config haproxy.Config) (loadbalancer.State, error) {
	state, err := loadbalancer.Observe(ctx, eng, name)
	if err != nil {
		return loadbalancer.State{}, err
	}
	return loadbalancer.Sync(ctx, eng, state, config)
}

func controlPlane(port uint16, backends []haproxy.Backend) haproxy.Config {
	return haproxy.Config{Frontends: []haproxy.Frontend{haproxy.ControlPlane(port, backends)}}
}
