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

package memory

import (
	"cmp"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log"
	"math/big"
	"net"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/go-logr/logr"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	inmemoryruntime "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/runtime"
	inmemoryapi "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server/api"
	inmemoryetcd "sigs.k8s.io/cluster-api/test/infrastructure/inmemory/pkg/server/etcd"
)

// servers are the API servers and members of etcd of all clusters: Cluster API's handlers, on a port
// of the loopback interface for each cluster. Its own mux listens on all interfaces, and signs with
// keys of RSA only.
type servers struct {
	handler http.Handler
	// key of all certificates.
	key *ecdsa.PrivateKey
	// names of clusters by their port.
	names sync.Map
}

var errUnknownPort = errors.New("no cluster has this port")

// newServers have faults; crash lets a control plane of a cluster end.
func newServers(objects inmemoryruntime.Manager, logger logr.Logger, faults *Injector, crash func(cluster string)) (*servers, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, fmt.Errorf("generate key: %w", err)
	}
	s := &servers{key: key}
	api, etcd := inmemoryapi.NewAPIServerHandler(objects, logger, s.resolve), inmemoryetcd.NewEtcdServerHandler(objects, logger, s.resolve)
	handler := http.HandlerFunc(func(w http.ResponseWriter, request *http.Request) {
		if isEtcd(request) {
			etcd.ServeHTTP(w, request)
			return
		}
		if !answerEndpointSlices(w, request) {
			api.ServeHTTP(w, withoutNameSelector(request))
		}
	})
	s.handler = faults.disturb(handler, func(request *http.Request) {
		address, _ := request.Context().Value(http.LocalAddrContextKey).(net.Addr)
		if address == nil {
			return
		}
		if cluster, err := s.resolve(address.String()); err == nil {
			crash(cluster)
		}
	})
	return s, nil
}

// withoutNameSelector is a request for all objects in place of one with a name: Cluster API's API server refuses such lists, and
// has all objects in a watch whatever it selects.
func withoutNameSelector(request *http.Request) *http.Request {
	query := request.URL.Query()
	if !strings.HasPrefix(query.Get("fieldSelector"), metav1.ObjectNameField+"=") {
		return request
	}
	query.Del("fieldSelector")
	request = request.Clone(request.Context())
	request.URL.RawQuery = query.Encode()
	return request
}

// answerEndpointSlices answers requests for EndpointSlices, which Cluster API's API server does not have: there are none. The
// provider reads them when it starts a stopped cluster.
func answerEndpointSlices(w http.ResponseWriter, request *http.Request) bool {
	const resource = "endpointslices"
	version := discoveryv1.SchemeGroupVersion
	var answer any
	switch path := "/apis/" + version.String(); {
	case request.Method != http.MethodGet || request.URL.Query().Has("watch"):
		return false
	case request.URL.Path == path:
		answer = metav1.APIResourceList{
			TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: version.String(),
			APIResources: []metav1.APIResource{{Name: resource, Namespaced: true, Kind: "EndpointSlice", Verbs: metav1.Verbs{"list"}}},
		}
	case request.URL.Path == path+"/"+resource:
		answer = discoveryv1.EndpointSliceList{
			TypeMeta: metav1.TypeMeta{Kind: "EndpointSliceList", APIVersion: version.String()}, Items: []discoveryv1.EndpointSlice{},
		}
	default:
		return false
	}
	w.Header().Set("Content-Type", "application/json")
	// The connection may have ended.
	_ = json.NewEncoder(w).Encode(answer)
	return true
}

// isEtcd distinguishes requests to members of etcd, which are gRPC, from those to API servers.
func isEtcd(request *http.Request) bool {
	return request.ProtoMajor == 2 && strings.HasPrefix(request.Header.Get("Content-Type"), "application/grpc")
}

// resolve the cluster of an address.
func (s *servers) resolve(address string) (string, error) {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return "", fmt.Errorf("read address: %w", err)
	}
	if name, found := s.names.Load(port); found {
		return name.(string), nil //nolint:forcetypeassert // It has no others.
	}
	return "", fmt.Errorf("%w: %s", errUnknownPort, port)
}

// endpoint of one cluster.
type endpoint struct {
	servers *servers
	port    string

	mutex sync.Mutex
	// certificates by the name of a member of etcd; that of the API servers has none.
	certificates map[string]*tls.Certificate
	// server that listens; nil = none.
	server *http.Server
}

func (s *servers) newEndpoint(cluster string, port int32) *endpoint {
	e := &endpoint{servers: s, port: strconv.Itoa(int(port)), certificates: map[string]*tls.Certificate{}}
	s.names.Store(e.port, cluster)
	return e
}

// certify a member of etcd, or the API servers.
func (e *endpoint) certify(member string, by authority) error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.certificates[member] != nil {
		return nil
	}
	const lifetime = 10 * 365 * 24 * time.Hour
	now := time.Now()
	template := &x509.Certificate{
		SerialNumber: big.NewInt(now.UnixNano()), Subject: pkix.Name{CommonName: cmp.Or(member, componentAPIServer)}, NotBefore: now.Add(-time.Minute), NotAfter: now.Add(lifetime),
		KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames: []string{"localhost"}, IPAddresses: []net.IP{net.ParseIP(Address)},
	}
	if member != "" {
		template.DNSNames = append(template.DNSNames, member)
	}
	certificate, err := x509.CreateCertificate(rand.Reader, template, by.certificate, e.servers.key.Public(), by.key)
	if err != nil {
		return fmt.Errorf("create certificate: %w", err)
	}
	e.certificates[member] = &tls.Certificate{Certificate: [][]byte{certificate}, PrivateKey: e.servers.key}
	return nil
}

// revoke the certificate of a member of etcd that does not run.
func (e *endpoint) revoke(member string) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	delete(e.certificates, member)
}

func (e *endpoint) certificate(hello *tls.ClientHelloInfo) (*tls.Certificate, error) {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if certificate := e.certificates[hello.ServerName]; certificate != nil {
		return certificate, nil
	}
	return e.certificates[""], nil
}

// start listening, if it does not yet.
func (e *endpoint) start(ctx context.Context) error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.server != nil {
		return nil
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", net.JoinHostPort(Address, e.port))
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	server := &http.Server{
		Handler: e.servers.handler, ReadHeaderTimeout: time.Minute,
		// Cluster API's handlers write a header twice where a watch or a port forward ends.
		ErrorLog:  log.New(io.Discard, "", 0),
		TLSConfig: &tls.Config{GetCertificate: e.certificate, MinVersion: tls.VersionTLS12},
	}
	e.server = server
	// It ends with stop.
	go func() { _ = server.ServeTLS(listener, "", "") }()
	return nil
}

// stop listening, and close all connections.
func (e *endpoint) stop() error {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	if e.server == nil {
		return nil
	}
	server := e.server
	e.server = nil
	if err := server.Close(); err != nil {
		return fmt.Errorf("stop listening: %w", err)
	}
	return nil
}

// remove the endpoint.
func (e *endpoint) remove() error {
	e.servers.names.Delete(e.port)
	return e.stop()
}
