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

package daemon

import (
	"cmp"
	"crypto/x509"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"strings"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/plane/pki"
)

// The users of the API server. All may do everything: the host's user owns the
// plane, and the controllers together touch every object in it.
const (
	userAdmin             = "capcon-admin"
	userDaemon            = "capcon-daemon"
	userManager           = "capcon-manager"
	userControllerManager = "kube-controller-manager"
)

// identity is who the components are to each other.
type identity struct {
	opts  Options
	files layout
	// api certifies the API server, the webhooks and the controller
	// manager; etcd's own authority keeps all other clients from etcd, which
	// admits only those that its authority certified.
	api, etcd *pki.Authority
	// tokens by user.
	tokens map[string]string
	// addresses of this host when the daemon started. Those that come and
	// go later, with every network of the host where there is no container
	// around the daemon, are not worth a new certificate each.
	addresses []net.IP
}

// newIdentity makes what is missing in the state directory and renews what is
// due.
func newIdentity(opts Options) (*identity, error) {
	id := &identity{opts: opts, files: layout(opts.StateDir), tokens: map[string]string{}}
	for _, dir := range []string{opts.StateDir, id.files.pki(), id.files.webhooks(), id.files.etcdData()} {
		if err := ensurePrivateDir(dir); err != nil {
			return nil, err
		}
	}
	var err error
	if id.addresses, err = hostAddresses(); err != nil {
		return nil, err
	}
	if id.api, err = pki.EnsureAuthority(id.files.pki(), "api-ca"); err != nil {
		return nil, err
	}
	if id.etcd, err = pki.EnsureAuthority(id.files.pki(), "etcd-ca"); err != nil {
		return nil, err
	}
	if err := pki.EnsureKey(id.files.serviceAccountKey()); err != nil {
		return nil, fmt.Errorf("ensure service account key: %w", err)
	}
	if err := id.ensureUsers(); err != nil {
		return nil, err
	}
	if id.opts.FeatureGates, err = keepSetting(id.files.featureGates(), opts.FeatureGates); err != nil {
		return nil, err
	}
	if id.opts.AllowedEngines, err = keepSetting(id.files.allowedEngines(), opts.AllowedEngines); err != nil {
		return nil, err
	}
	_, err = id.renew(time.Now())
	return id, err
}

// keepSetting records a setting of the manager, and returns the record if none is requested: a
// container that was lost is recreated without it.
func keepSetting(path, requested string) (string, error) {
	if requested != "" {
		return requested, pki.WriteFile(path, []byte(requested))
	}
	recorded, err := os.ReadFile(path)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("read setting of the manager: %w", err)
	}
	return string(recorded), nil
}

// ensurePrivateDir makes a directory for its owner only; an existing
// one, such as a volume's, is restricted.
func ensurePrivateDir(dir string) error {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return fmt.Errorf("ensure directory: %w", err)
	}
	if err := os.Chmod(dir, 0o700); err != nil {
		return fmt.Errorf("restrict directory: %w", err)
	}
	return nil
}

// ensureUsers writes the tokens the API server accepts, and a kubeconfig for
// each user.
func (id *identity) ensureUsers() error {
	inside := "https://" + loopback(id.opts.Ports.API)
	var accepted strings.Builder
	for _, user := range []string{userAdmin, userDaemon, userManager, userControllerManager} {
		token, err := pki.EnsureToken(id.files.path("pki/" + user + ".token"))
		if err != nil {
			return fmt.Errorf("ensure user %s: %w", user, err)
		}
		id.tokens[user] = token
		fmt.Fprintf(&accepted, "%s,%s,%s,system:masters\n", token, user, user)

		path, server := id.files.kubeconfig(user), inside
		if user == userAdmin {
			path, server = id.files.adminKubeconfig(), cmp.Or(id.opts.PublicURL, inside)
		}
		kubeconfig, err := id.api.Kubeconfig(server, "capcon-plane", user, token)
		if err != nil {
			return fmt.Errorf("ensure user %s: %w", user, err)
		}
		if err := pki.WriteFile(path, kubeconfig); err != nil {
			return fmt.Errorf("ensure user %s: %w", user, err)
		}
	}
	return pki.WriteFile(id.files.tokens(), []byte(accepted.String()))
}

// renew issues every certificate that is missing or due, and names them.
func (id *identity) renew(now time.Time) ([]string, error) {
	serving := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
	both := []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth}
	local := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	var renewed []string
	for _, leaf := range []struct {
		authority *pki.Authority
		pki.Certificate
	}{
		{id.api, pki.Certificate{
			Path: id.files.apiServer(), CommonName: "kube-apiserver", Usages: serving,
			Names: []string{"localhost", "capcon-plane"}, Addresses: id.addresses,
		}},
		{id.api, pki.Certificate{Path: id.files.webhook(), CommonName: "webhooks", Usages: serving, Names: []string{"localhost"}, Addresses: local}},
		{id.api, pki.Certificate{Path: id.files.controllerManager(), CommonName: "kube-controller-manager", Usages: serving, Names: []string{"localhost"}, Addresses: local}},
		// etcd is a client of itself, as its own peer.
		{id.etcd, pki.Certificate{Path: id.files.etcdServer(), CommonName: "etcd", Usages: both, Names: []string{"localhost"}, Addresses: local}},
		{id.etcd, pki.Certificate{Path: id.files.etcdClient(), CommonName: "kube-apiserver-etcd-client", Usages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}},
	} {
		leaf.Lifetime = id.opts.Lifetime
		issued, err := leaf.authority.Ensure(leaf.Certificate, now)
		if err != nil {
			return renewed, err
		}
		if issued {
			renewed = append(renewed, leaf.CommonName)
		}
	}
	return renewed, nil
}

// hostAddresses are those the API server can be reached at.
func hostAddresses() ([]net.IP, error) {
	// Also the loopback of a host whose interface for it has no address yet.
	addresses := []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback}
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, fmt.Errorf("list addresses of host: %w", err)
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && !n.IP.IsLoopback() && !n.IP.IsLinkLocalUnicast() {
			addresses = append(addresses, n.IP)
		}
	}
	return addresses, nil
}
