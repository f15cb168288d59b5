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
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"os"
	"runtime"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// InNetwork calls a function in a network namespace of this machine. What it opens there stays there.
func InNetwork(namespace string, do func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() == unix.Getpid() {
			// The main thread never ends, and would have this process belong to the namespace. While it is held, others run the rest.
			defer runtime.UnlockOSThread()
			done <- InNetwork(namespace, do)
			return
		}
		// Never unlocked: the thread, which is in the other namespace, ends with this function.
		done <- inNetwork(namespace, do)
	}()
	return <-done
}

func inNetwork(namespace string, do func() error) error {
	file, err := os.Open("/run/netns/" + namespace)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	if err := unix.Setns(int(file.Fd()), unix.CLONE_NEWNET); err != nil {
		return fmt.Errorf("enter network namespace: %w", err)
	}
	return do()
}

// Listen on an address of the host, as a process there does, until the test ends or the listener is closed.
func (h *Host) Listen(t *testing.T, address string) net.Listener {
	t.Helper()
	var listener net.Listener
	must.Succeed(t, InNetwork(hostNamespace+h.Name, func() (err error) {
		listener, err = (&net.ListenConfig{}).Listen(context.WithoutCancel(t.Context()), "tcp", address)
		return err
	}))
	t.Cleanup(func() { _ = listener.Close() })
	return listener
}

// Accepts reports whether the engine of the host responds to a client with these credentials; nil = it does.
func (h *Host) Accepts(ctx context.Context, credentials Credentials) error {
	pair, err := tls.LoadX509KeyPair(credentials.certificate, credentials.certificate)
	if err != nil {
		return err
	}
	config := &tls.Config{Certificates: []tls.Certificate{pair}, RootCAs: x509.NewCertPool(), MinVersion: tls.VersionTLS12}
	config.RootCAs.AppendCertsFromPEM(h.CertificatePEM())
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: config}, Timeout: 10 * time.Second}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+net.JoinHostPort(h.Address, apiPort)+"/_ping", http.NoBody)
	if err != nil {
		return err
	}
	response, err := client.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}
