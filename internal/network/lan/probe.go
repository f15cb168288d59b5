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

package lan

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"net/netip"
	"strings"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

// Host is an engine whose containers are to be on the network.
type Host struct {
	// Name of it, for users.
	Name   string
	Engine engine.Containers
	// Image of a load balancer, which it has.
	Image string
}

// Request says what is to be connected.
type Request struct {
	// Owner of the containers.
	Owner identity.Owner
	// Network of that name exists on each host, which gives dynamic addresses of its own range.
	Network string
	// Families that the network has.
	Families network.Families
	Hosts    []Host
}

const (
	// port that haproxy listens on, in its container.
	port = 8080
	// responseBytes are more than the largest packet of Ethernet, of 9000 bytes, and less than haproxy's buffer of 16 KiB.
	responseBytes = 12 << 10
	// responsePath of what haproxy responds with.
	responsePath = "/usr/local/etc/haproxy/response"
	// memoryBytes are some times of what the process uses.
	memoryBytes = 128 << 20
	pids        = 128
	// user runs haproxy, and owns nothing.
	user = "99:99"
)

func (r Request) name(host Host) string { return r.Owner.ProbeContainer(host.Name) }

func (r Request) container(host Host) engine.Spec {
	name := r.name(host)
	return engine.Spec{
		Name: name, Hostname: identity.HostName(name), Image: host.Image,
		Entrypoint: []string{"haproxy", "-db", "-f", haproxy.ConfigPath}, User: user,
		Labels:     r.Owner.ContainerLabels(identity.RoleProbe, ""),
		Attachment: engine.Attachment{Network: r.Network},
		Security:   engine.Security{DropAllCapabilities: true, NoNewPrivileges: true},
		Resources:  engine.Resources{MemoryBytes: memoryBytes, Pids: pids, OpenFiles: haproxy.OpenFiles},
		Restart:    engine.RestartNever,
	}
}

// files of the container: haproxy responds to each request with as much as fits into its buffer.
func files(families network.Families) io.Reader {
	config := fmt.Sprintf(`global
  maxconn 100
defaults
  mode http
  timeout client %[1]ds
  timeout server %[1]ds
  timeout connect %[1]ds
frontend probe
  http-request return status 200 content-type text/plain file %[2]s
`, int(patience.Seconds()), responsePath)
	if families.Has(network.IPv4) {
		config += fmt.Sprintf("  bind 0.0.0.0:%d\n", port)
	}
	if families.Has(network.IPv6) {
		config += fmt.Sprintf("  bind [::]:%d v6only\n", port)
	}
	var packed bytes.Buffer
	writer := tar.NewWriter(&packed)
	for _, file := range []struct{ path, content string }{{haproxy.ConfigPath, config}, {responsePath, strings.Repeat("x", responseBytes)}} {
		// A buffer takes all that is written.
		_ = writer.WriteHeader(&tar.Header{
			Name: strings.TrimPrefix(file.path, "/"), Mode: 0o644, Size: int64(len(file.content)), ModTime: time.Unix(0, 0),
		})
		_, _ = io.WriteString(writer, file.content)
	}
	_ = writer.Close()
	return &packed
}

// Reach is how far a request gets.
type Reach int

// The steps of a request.
const (
	// Silent: there is no connection.
	Silent Reach = iota
	// Connects: there is one, and the response does not arrive.
	Connects
	// Responds: the whole response arrives.
	Responds
)

// askScript asks all addresses concurrently, each until it has responded or the time is up. haproxy may still be starting
// there. The image has bash and coreutils.
const askScript = `ask() {
  until { exec 3<>"/dev/tcp/$0/%[1]d"; } 2>/dev/null; do sleep 0.2; done
  echo "$0 %[4]d"
  printf 'GET / HTTP/1.0\r\n\r\n' >&3
  if (( $(wc -c <&3) > %[2]d )); then echo "$0 %[5]d"; fi
}
export -f ask
for address; do timeout %[3]d bash -c ask "$address" & done
wait`

// command that prints how far a request to each address gets, as a line for each step.
func command(addresses []netip.Addr) engine.Command {
	script := fmt.Sprintf(askScript, port, responseBytes, int(patience.Seconds()), Connects, Responds)
	args := []string{"bash", "-c", script, "bash"}
	for _, address := range addresses {
		args = append(args, address.String())
	}
	return engine.Command{Args: args}
}

// parse what the command prints.
func parse(text string) map[netip.Addr]Reach {
	reached := map[netip.Addr]Reach{}
	for line := range strings.Lines(text) {
		var address string
		var reach Reach
		if _, err := fmt.Sscanf(line, "%s %d", &address, &reach); err != nil {
			continue
		}
		if parsed, err := netip.ParseAddr(address); err == nil {
			reached[parsed] = max(reached[parsed], reach)
		}
	}
	return reached
}
