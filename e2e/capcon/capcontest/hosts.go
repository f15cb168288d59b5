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

package capcontest

import (
	"context"
	"crypto/x509"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/docker"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/pki"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	// LANNetwork is the name of the LAN on each engine that joins it.
	LANNetwork = "lan"
	// lanSubnet is from the range for benchmarks (RFC 2544). Its lower half is free for static addresses, but for this
	// machine's.
	lanSubnet, lanGateway = "198.18.1.0/24", "198.18.1.1"
	// LANEndpoints is a pattern of the endpoints of all hosts, for the flag --allowed-engine-endpoints.
	LANEndpoints = "tcp://" + lanSubnet
	// lanNamespace has the bridge: in the namespace of this machine, the firewall of an engine may drop what it forwards.
	// The interface of this machine has the name, too.
	lanNamespace, hostNamespace = "capcon-lan", "capcon-host-"
	apiPort                     = "2376"
	// daemonConfig is what the engine of this machine needs, too.
	daemonConfig = "/etc/docker/daemon.json"
)

// LAN is a network of hosts that have an engine each. This machine reaches it, and so do the containers of its own engine.
type LAN struct {
	tb        testing.TB
	authority Authority
	// disk is the directory that the engine of this machine stores its images in, and those of the hosts as well.
	disk  string
	hosts int
}

// Host is a dockerd with namespaces of its own: of the network, which has one interface in the LAN, of processes and of
// mounts. Nothing of it survives its end but its disk.
type Host struct {
	Authority
	Name, Address string
	ipRange       string
	// What of it survives Kill, and what does not.
	disk, runtime  string
	process        *exec.Cmd
	log            *os.File
	serverIdentity string
}

// powerOn runs in the namespaces of a host, and becomes its engine. Mounts of other engines would live on here.
const powerOn = `mount -t proc proc /proc
awk '$2 != "/" && ($3 == "nsfs" || $3 == "overlay") { print $2 }' /proc/mounts | xargs --no-run-if-empty --max-args=1 umount --lazy || true
exec dockerd "$@"`

// NewLAN without hosts. It ends with the test, and what an earlier test left ends now.
func NewLAN(tb testing.TB) *LAN {
	tb.Helper()
	if os.Getuid() != 0 {
		tb.Skip("making a network namespace takes root")
	}
	root := must.Get(exec.CommandContext(tb.Context(), "docker", "info", "--format", "{{.DockerRootDir}}").Output())(tb)
	disk := strings.TrimSpace(string(root))
	undo := fmt.Sprintf(`for name in $(ip netns list | awk '$1 ~ /^(%[1]s$|%[2]s)/ { print $1 }'); do
  ip netns pids "$name" | xargs --no-run-if-empty kill -KILL || true
  ip netns delete "$name"
done
rm --recursive --force --one-file-system %[3]s/%[2]s*
ip link delete %[1]s 2>/dev/null || true
iptables --delete FORWARD --in-interface %[1]s --jump ACCEPT 2>/dev/null || true
iptables --delete FORWARD --out-interface %[1]s --jump ACCEPT 2>/dev/null || true`, lanNamespace, hostNamespace, disk)
	Shell(tb, undo)
	tb.Cleanup(func() { Shell(tb, undo) })
	Shell(tb, fmt.Sprintf(`ip netns add %[1]s
ip -n %[1]s link add bridge type bridge
ip -n %[1]s link set dev bridge up
ip link add %[1]s type veth peer name gateway netns %[1]s
ip -n %[1]s link set dev gateway master bridge up
ip address add %[2]s/%[3]d dev %[1]s
ip link set dev %[1]s up
iptables --insert FORWARD --in-interface %[1]s --jump ACCEPT
iptables --insert FORWARD --out-interface %[1]s --jump ACCEPT`, lanNamespace, lanGateway, netip.MustParsePrefix(lanSubnet).Bits()))
	return &LAN{tb: tb, authority: NewAuthority(tb), disk: disk}
}

// LANAddress is the one with that last number. This machine has the first; those from 2 to 127 are free.
func LANAddress(last int) string {
	octets := netip.MustParsePrefix(lanSubnet).Addr().As4()
	octets[3] = byte(last)
	return netip.AddrFrom4(octets).String()
}

// StartHost whose engine has these images, which the engine of this machine has. It ends with the test.
func (l *LAN) StartHost(name string, images ...string) *Host {
	l.tb.Helper()
	l.hosts++
	const firstRange, rangeSize, firstHost = 128, 16, 240
	runtime := l.tb.TempDir()
	h := &Host{
		Authority: l.authority, Name: name, Address: LANAddress(firstHost + l.hosts),
		disk: filepath.Join(l.disk, hostNamespace+name), runtime: runtime, ipRange: fmt.Sprintf("%s/28", LANAddress(firstRange+rangeSize*(l.hosts-1))),
		log: must.Get(os.Create(filepath.Join(runtime, "log")))(l.tb),
	}
	h.serverIdentity = h.certificate(pki.Certificate{
		CommonName: "server-" + name, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}, Lifetime: lifetime,
	}, h.Address)
	Shell(l.tb, fmt.Sprintf(`ip netns add %[1]s
ip -n %[1]s link set dev lo up
ip -n %[1]s link add lan type veth peer name %[2]s netns %[3]s
ip -n %[3]s link set dev %[2]s master bridge
ip -n %[1]s address add %[4]s/%[5]d dev lan
ip -n %[1]s link set dev lan up
ip -n %[1]s route add default via %[6]s`, hostNamespace+name, name, lanNamespace, h.Address, netip.MustParsePrefix(lanSubnet).Bits(), lanGateway))
	l.tb.Cleanup(func() {
		h.Kill(l.tb)
		if l.tb.Failed() {
			l.tb.Logf("dockerd of host %s:\n%s", name, must.Get(os.ReadFile(h.log.Name()))(l.tb))
		}
		_ = h.log.Close()
	})
	if len(images) > 0 {
		h.linkImages(l.tb)
	}
	h.Start(l.tb)
	h.copyImages(l.tb, images)
	return h
}

// linkImages gives the engine all images of the one of this machine, without copies of their layers, which no engine writes
// to. Where the engine stores them in another way, it does nothing.
func (h *Host) linkImages(tb testing.TB) {
	tb.Helper()
	Shell(tb, fmt.Sprintf(`cd %[1]s
if [[ ! -f image/overlay2/repositories.json ]]; then exit; fi
mkdir --parents %[2]s/overlay2/l %[2]s/image/overlay2/layerdb
cp image/overlay2/repositories.json %[2]s/image/overlay2/
cp --archive --link image/overlay2/{distribution,imagedb} %[2]s/image/overlay2/
cp --archive --link image/overlay2/layerdb/sha256 %[2]s/image/overlay2/layerdb/
for layer in image/overlay2/layerdb/sha256/*/cache-id; do
  layer="$(cat "$layer")"
  cp --archive --link overlay2/"$layer" %[2]s/overlay2/
  ln --symbolic ../"$layer"/diff %[2]s/overlay2/l/"$(cat overlay2/"$layer"/link)"
done`, filepath.Dir(h.disk), h.disk))
}

// copyImages that the engine does not have yet.
func (h *Host) copyImages(tb testing.TB, images []string) {
	tb.Helper()
	from, to := integration.Engine(tb), h.Connect(tb)
	for _, image := range images {
		if _, err := to.InspectImage(tb.Context(), image); err == nil {
			continue
		}
		archive := must.Get(from.SaveImage(tb.Context(), image))(tb)
		err := to.LoadImage(tb.Context(), archive)
		_ = archive.Close()
		must.Succeed(tb, err)
	}
}

// Start it, after Kill as after a loss of power, and wait until its engine responds.
func (h *Host) Start(tb testing.TB) {
	tb.Helper()
	execRoot, pidFile := filepath.Join(h.runtime, "exec"), filepath.Join(h.runtime, "pid")
	must.Succeed(tb, os.RemoveAll(execRoot))
	must.Succeed(tb, os.RemoveAll(pidFile))
	h.Plug(tb)
	arguments := []string{
		"--net=/run/netns/" + hostNamespace + h.Name, "bash", "-ec", powerOn, "dockerd", "--data-root", h.disk,
		"--exec-root", execRoot, "--pidfile", pidFile, "--host", "unix://" + h.socket(), "--host", h.Endpoint(),
		"--tlsverify", "--tlscacert", h.Path(), "--tlscert", h.serverIdentity, "--tlskey", h.serverIdentity,
	}
	if _, err := os.Stat(daemonConfig); err == nil {
		arguments = append(arguments, "--config-file", daemonConfig)
	}
	h.process = exec.CommandContext(context.WithoutCancel(tb.Context()), "nsenter", arguments...) // All of them replace themselves.
	h.process.Dir = "/"
	h.process.Stdout, h.process.Stderr = h.log, h.log
	h.process.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID, Unshareflags: syscall.CLONE_NEWNS}
	must.Succeed(tb, h.process.Start())
	eng := h.Connect(tb)
	Eventually(tb, "the engine of host "+h.Name+" responds", func(ctx context.Context) (string, error) {
		_, err := eng.Info(ctx)
		return "", err
	})
}

// Kill it with all its containers, as a loss of power does: no connection is closed.
func (h *Host) Kill(tb testing.TB) {
	tb.Helper()
	h.Unplug(tb)
	if h.process == nil || h.process.Process == nil {
		return
	}
	// It is the first process of its namespace, and ends once all others there have.
	_ = h.process.Process.Kill()
	_ = h.process.Wait()
	h.process = nil
	// This machine's control groups are not the host's alone.
	Shell(tb, fmt.Sprintf(`for container in $(ls %s/containers); do
  find /sys/fs/cgroup -depth -type d -path "*$container*" -exec rmdir {} + || true
done`, h.disk))
}

// Freeze its engine, which does not respond; its containers run.
func (h *Host) Freeze(tb testing.TB) {
	tb.Helper()
	must.Succeed(tb, h.process.Process.Signal(syscall.SIGSTOP))
}

// Resume after Freeze.
func (h *Host) Resume(tb testing.TB) {
	tb.Helper()
	must.Succeed(tb, h.process.Process.Signal(syscall.SIGCONT))
}

// Unplug it: its engine and its containers run, and are not reached.
func (h *Host) Unplug(tb testing.TB) {
	tb.Helper()
	Shell(tb, fmt.Sprintf("ip -n %s link set dev %s down", lanNamespace, h.Name))
}

// Plug after Unplug.
func (h *Host) Plug(tb testing.TB) {
	tb.Helper()
	Shell(tb, fmt.Sprintf("ip -n %s link set dev %s up", lanNamespace, h.Name))
}

// JoinLAN creates the network of the LAN, LANNetwork, on the engine. What it gives out itself, no other engine does.
func (h *Host) JoinLAN(tb testing.TB) {
	tb.Helper()
	h.createNetwork(tb, "lan")
}

// JoinUnplugged is JoinLAN by another interface, whose cable is not in the switch. Its containers are reached after PlugOther; the engine
// is, anyway. LeaveLAN ends it.
func (h *Host) JoinUnplugged(tb testing.TB) {
	tb.Helper()
	Shell(tb, fmt.Sprintf(`ip -n %[1]s link add %[2]s type veth peer name %[3]s netns %[4]s
ip -n %[1]s link set dev %[2]s up
ip -n %[4]s link set dev %[3]s up`, hostNamespace+h.Name, otherInterface, h.otherCable(), lanNamespace))
	h.createNetwork(tb, otherInterface)
}

// PlugOther cable of JoinUnplugged into the switch.
func (h *Host) PlugOther(tb testing.TB) {
	tb.Helper()
	Shell(tb, fmt.Sprintf("ip -n %s link set dev %s master bridge", lanNamespace, h.otherCable()))
}

// LeaveLAN removes the network, and the other interface if there is one.
func (h *Host) LeaveLAN(tb testing.TB) {
	tb.Helper()
	h.Docker(tb, "network", "rm", LANNetwork)
	Shell(tb, fmt.Sprintf("ip -n %s link delete %s 2>/dev/null || true", hostNamespace+h.Name, otherInterface))
}

// otherInterface of a host that has two.
const otherInterface = "other"

func (h *Host) otherCable() string { return h.Name + "-" + otherInterface }

func (h *Host) createNetwork(tb testing.TB, parent string) {
	tb.Helper()
	h.Docker(tb, "network", "create", "--driver", "macvlan", "--opt", "parent="+parent, "--subnet", lanSubnet, "--gateway", lanGateway,
		"--ip-range", h.ipRange, LANNetwork)
}

// Docker runs the engine's command, and returns what it prints.
func (h *Host) Docker(tb testing.TB, args ...string) string {
	tb.Helper()
	output, err := h.DockerCommand(tb.Context(), args...).CombinedOutput()
	if err != nil {
		tb.Fatalf("docker %s on host %s: %v\n%s", strings.Join(args, " "), h.Name, err, output)
	}
	return strings.TrimSpace(string(output))
}

// DockerCommand is the engine's command.
func (h *Host) DockerCommand(ctx context.Context, args ...string) *exec.Cmd {
	return exec.CommandContext(ctx, "docker", append([]string{"--host", "unix://" + h.socket()}, args...)...)
}

// Endpoint that others reach.
func (h *Host) Endpoint() string { return "tcp://" + net.JoinHostPort(h.Address, apiPort) }

func (h *Host) socket() string { return filepath.Join(h.runtime, "docker.sock") }

// Connect from this machine, also while the host is unplugged.
func (h *Host) Connect(tb testing.TB) engine.Engine {
	tb.Helper()
	eng := must.Get(docker.NewOver(h.socket(), func(ctx context.Context) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", h.socket())
	}))(tb)
	tb.Cleanup(func() { _ = eng.Close() })
	return eng
}

// Shell runs a script on this machine.
func Shell(tb testing.TB, script string) {
	tb.Helper()
	if output, err := exec.CommandContext(context.WithoutCancel(tb.Context()), "bash", "-ec", script).CombinedOutput(); err != nil {
		tb.Fatalf("%s\n%v\n%s", script, err, output)
	}
}

// Authority of certificates of engines and their clients.
type Authority struct {
	*pki.Authority
	tb        testing.TB
	directory string
}

// Credentials are files: the authority of the engine, and the certificate of a client with its key.
type Credentials struct{ authority, certificate string }

// NewAuthority that no engine trusts yet.
func NewAuthority(tb testing.TB) Authority {
	tb.Helper()
	directory := tb.TempDir()
	return Authority{must.Get(pki.EnsureAuthority(directory, "ca"))(tb), tb, directory}
}

// lifetime of certificates is longer than any test.
const lifetime = 24 * time.Hour

// Issue a certificate of a client.
func (a Authority) Issue(name string) Credentials {
	a.tb.Helper()
	return a.IssueFor(name, lifetime)
}

// IssueFor a certificate of a client that ends after this time.
func (a Authority) IssueFor(name string, lifetime time.Duration) Credentials {
	a.tb.Helper()
	return Credentials{a.Path(), a.certificate(pki.Certificate{CommonName: name, Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}, Lifetime: lifetime})}
}

// certificate with its key, in a file.
func (a Authority) certificate(certificate pki.Certificate, addresses ...string) string {
	a.tb.Helper()
	certificate.Path = filepath.Join(a.directory, certificate.CommonName+".pem")
	for _, address := range addresses {
		certificate.Addresses = append(certificate.Addresses, net.ParseIP(address))
	}
	must.Get(a.Ensure(certificate, time.Now()))(a.tb)
	return certificate.Path
}

// Flags of "capcon engine add". The certificate's file has the key, too.
func (c Credentials) Flags() []string {
	return []string{"--tls-ca", c.authority, "--tls-cert", c.certificate, "--tls-key", c.certificate}
}

// Data of the Secret.
func (c Credentials) Data(tb testing.TB) map[string][]byte {
	tb.Helper()
	bundle := must.Get(os.ReadFile(c.certificate))(tb)
	return map[string][]byte{"ca.crt": must.Get(os.ReadFile(c.authority))(tb), "tls.crt": bundle, "tls.key": bundle}
}
