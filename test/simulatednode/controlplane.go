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

package simulatednode

import (
	"archive/tar"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"fmt"
	"math/big"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/keyutil"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
)

// The files of certificates below /etc/kubernetes by the authority that signs them.
var signed = map[string][]string{
	"pki/ca":             {"admin.conf", "controller-manager.conf", "scheduler.conf", "pki/apiserver.crt", "pki/apiserver-kubelet-client.crt"},
	"pki/etcd/ca":        {"pki/apiserver-etcd-client.crt", "pki/etcd/server.crt", "pki/etcd/peer.crt", "pki/etcd/healthcheck-client.crt"},
	"pki/front-proxy-ca": {"pki/front-proxy-client.crt"},
}

var components = []string{"etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler"}

const (
	kubernetes     = "/etc/kubernetes/"
	kubeletCurrent = "/var/lib/kubelet/pki/kubelet-client-current.pem"
	year           = 365 * 24 * time.Hour
)

// ControlPlane is what kubeadm, crictl, kubectl, systemctl and the kubelet do in the nodes of
// a cluster that kubeadm set up. Components read their certificates when they start, but etcd
// on each connection, and etcd answers where most of its members have valid ones.
type ControlPlane struct {
	tb     testing.TB
	engine *simulated.Engine
	now    func() time.Time

	mutex       sync.Mutex
	authorities map[string]authority
	// running components of each node, by name.
	running map[string]map[string]process
	started int
	// Commands that changed something, "container: command".
	commands []string
}

type process struct {
	id      string
	started time.Time
	// ends is when the first certificate that it read ends.
	ends time.Time
}

// NewControlPlane has no nodes yet. Its authorities have a life of ten years.
func NewControlPlane(tb testing.TB, eng *simulated.Engine, now func() time.Time) (*ControlPlane, error) {
	tb.Helper()
	p := &ControlPlane{tb: tb, engine: eng, now: now, authorities: map[string]authority{}, running: map[string]map[string]process{}}
	for name := range signed {
		key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
		if err != nil {
			return nil, err
		}
		template := &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: now(), NotAfter: now().Add(10 * year),
			IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		}
		der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
		if err != nil {
			return nil, err
		}
		certificate, err := x509.ParseCertificate(der)
		if err != nil {
			return nil, err
		}
		p.authorities[name] = authority{certificate, key}
	}
	eng.HandleExec(p.Exec)
	return p, nil
}

// Init makes a container a control plane node whose certificates have a life of a year.
func (p *ControlPlane) Init(container string) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	for name, ca := range p.authorities {
		key, err := keyutil.MarshalPrivateKeyToPEM(ca.key)
		if err != nil {
			return err
		}
		if err := p.write(container, kubernetes+name+".key", key); err != nil {
			return err
		}
		if err := p.write(container, kubernetes+name+".crt", encode(ca.certificate.Raw)); err != nil {
			return err
		}
	}
	for _, component := range components {
		if err := p.write(container, kubernetes+"manifests/"+component+".yaml", nil); err != nil {
			return err
		}
	}
	if err := p.renew(container); err != nil {
		return err
	}
	p.running[container] = map[string]process{}
	return p.join(container)
}

// Join makes a container a worker, which has a kubelet.
func (p *ControlPlane) Join(container string) error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	return p.join(container)
}

func (p *ControlPlane) join(container string) error {
	certificate, key, err := p.issue("pki/ca", pkix.Name{CommonName: "system:node:" + container, Organization: []string{"system:nodes"}})
	if err != nil {
		return err
	}
	private, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		return err
	}
	return p.kubelet(container, append(encode(certificate), private...))
}

// kubelet begins with a certificate and its key.
func (p *ControlPlane) kubelet(container string, bundle []byte) error {
	file := path.Join(path.Dir(kubeletCurrent), "kubelet-client-"+p.now().UTC().Format("2006-01-02-15-04-05")+".pem")
	if err := p.write(container, file, bundle); err != nil {
		return err
	}
	link := tar.Header{Name: kubeletCurrent, Typeflag: tar.TypeSymlink, Linkname: file, ModTime: p.now()}
	if err := p.upload(container, link, nil); err != nil {
		return err
	}
	p.startMissing(container)
	return nil
}

// Commands that changed something in a node, in order.
func (p *ControlPlane) Commands(container string) []string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var commands []string
	for _, line := range p.commands {
		if command, ok := strings.CutPrefix(line, container+": "); ok {
			commands = append(commands, command)
		}
	}
	return commands
}

// Crash ends the components of a node, which the kubelet does not start again by itself.
func (p *ControlPlane) Crash(container string) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.running[container] = map[string]process{}
}

// Stale are the components that do not run, or use a certificate that has ended.
func (p *ControlPlane) Stale() []string {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	var stale []string
	for container, running := range p.running {
		for _, component := range components {
			if process, found := running[component]; !found || !p.now().Before(process.ends) {
				stale = append(stale, container+" "+component)
			}
		}
	}
	slices.Sort(stale)
	return stale
}

// Exec is a handler for the simulated engine.
func (p *ControlPlane) Exec(container string, command engine.Command) (engine.Output, error) {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	line := strings.Join(command.Args, " ")
	changed := func() { p.commands = append(p.commands, container+": "+command.Args[0]+" "+command.Args[1]) }
	switch {
	case line == "kubeadm version --output=short":
		return engine.Output{Stdout: []byte("v1.36.3\n")}, nil
	case line == "kubeadm certs renew all":
		changed()
		return engine.Output{}, p.renew(container)
	case line == "crictl ps --output=json":
		return p.list(container)
	case strings.HasPrefix(line, "crictl stop --timeout=30 "):
		changed()
		p.stop(container, command.Args[3])
		return engine.Output{}, nil
	case strings.HasPrefix(line, "kubectl --kubeconfig=/etc/kubernetes/admin.conf --request-timeout=5s get pods "):
		return p.pods(container)
	case line == "systemctl restart kubelet":
		changed()
		p.startMissing(container)
		return engine.Output{}, nil
	case strings.HasPrefix(line, "sh -c ") && command.Stdin != nil:
		changed()
		return engine.Output{}, p.replaceKubelet(container, command.Stdin)
	}
	return engine.Output{}, fmt.Errorf("unknown command %q", line)
}

func (p *ControlPlane) stop(container, id string) {
	for component, process := range p.running[container] {
		if process.id == id {
			delete(p.running[container], component)
		}
	}
	p.startMissing(container)
}

// startMissing is the kubelet, which needs a valid certificate of its own.
func (p *ControlPlane) startMissing(container string) {
	if p.running[container] == nil || !p.now().Before(p.end(container, kubeletCurrent)) {
		return
	}
	ends := p.end(container, kubernetes+"pki/apiserver.crt")
	for _, component := range components {
		if _, found := p.running[container][component]; !found {
			p.started++
			p.running[container][component] = process{fmt.Sprintf("%s-%d", component, p.started), p.now(), ends}
		}
	}
}

func (p *ControlPlane) list(container string) (engine.Output, error) {
	var list []map[string]any
	for component, process := range p.running[container] {
		list = append(list, map[string]any{
			"id": process.id, "createdAt": fmt.Sprint(process.started.UnixNano()), "labels": map[string]string{
				"io.kubernetes.container.name": component, "io.kubernetes.pod.namespace": "kube-system",
			},
		})
	}
	output, err := json.Marshal(map[string]any{"containers": list})
	return engine.Output{Stdout: output}, err
}

// pods that are ready, if the API server of the node answers.
func (p *ControlPlane) pods(container string) (engine.Output, error) {
	valid := 0
	for node, running := range p.running {
		if _, found := running["etcd"]; found && p.now().Before(p.end(node, kubernetes+"pki/etcd/peer.crt")) {
			valid++
		}
	}
	server, found := p.running[container]["kube-apiserver"]
	if !found || !p.now().Before(server.ends) || 2*valid <= len(p.running) {
		return engine.Output{Stderr: []byte("Unable to connect to the server")}, &engine.ExitError{Code: 1}
	}
	list := corev1.PodList{}
	for node, running := range p.running {
		for component, process := range running {
			ready := p.now().Before(p.end(node, kubeletCurrent))
			list.Items = append(list.Items, corev1.Pod{
				ObjectMeta: metav1.ObjectMeta{Namespace: "kube-system", Name: component + "-" + node},
				Status:     corev1.PodStatus{ContainerStatuses: []corev1.ContainerStatus{{Ready: ready, ContainerID: "containerd://" + process.id}}},
			})
		}
	}
	output, err := json.Marshal(list)
	return engine.Output{Stdout: output}, err
}

func (p *ControlPlane) write(container, file string, content []byte) error {
	return p.upload(container, tar.Header{Name: file, Typeflag: tar.TypeReg, Mode: 0o600, Size: int64(len(content)), ModTime: p.now()}, content)
}

func (p *ControlPlane) upload(container string, header tar.Header, content []byte) error {
	var archive bytes.Buffer
	writer := tar.NewWriter(&archive)
	if err := writer.WriteHeader(&header); err != nil {
		return err
	}
	if _, err := writer.Write(content); err != nil {
		return err
	}
	if err := writer.Close(); err != nil {
		return err
	}
	return p.engine.Upload(p.tb.Context(), container, &archive)
}
