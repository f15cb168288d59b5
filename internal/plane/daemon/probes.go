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
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/capi-samples/cluster-api-provider-container/internal/plane/pki"
)

// errStatus: a component answers, but not that it is well.
var errStatus = errors.New("component is not ready")

func (id *identity) etcdReady(ctx context.Context) error {
	config, err := id.etcdTLS()
	if err != nil {
		return err
	}
	// A member without free space still serves reads and deletes, and a
	// restart frees none.
	return get(ctx, "https://"+loopback(id.opts.Ports.EtcdClient)+"/health?exclude=NOSPACE", config, "")
}

// apiServing reports whether the API server takes CRDs.
func (id *identity) apiServing(ctx context.Context) error {
	url := "https://" + loopback(id.opts.Ports.API) + "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?limit=1"
	return get(ctx, url, trusting(id.api), id.tokens[userDaemon])
}

func (id *identity) apiReady(ctx context.Context) error {
	return get(ctx, "https://"+loopback(id.opts.Ports.API)+"/readyz", trusting(id.api), id.tokens[userDaemon])
}

func (id *identity) controllerManagerReady(ctx context.Context) error {
	return get(ctx, "https://"+loopback(id.opts.Ports.ControllerManager)+"/healthz", trusting(id.api), "")
}

func (id *identity) managerReady(ctx context.Context) error {
	return get(ctx, "http://"+loopback(id.opts.Ports.Health)+"/readyz", nil, "")
}

func trusting(authority *pki.Authority) *tls.Config {
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(authority.CertificatePEM())
	return &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}
}

// get asks a component on a connection of its own: one that stays open would
// not notice a component that takes no new ones.
func get(ctx context.Context, url string, config *tls.Config, token string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return fmt.Errorf("probe %s: %w", url, err)
	}
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		return fmt.Errorf("probe %s: %w", url, err)
	}
	_, copyErr := io.Copy(io.Discard, io.LimitReader(response.Body, 1<<20))
	if err := errors.Join(copyErr, response.Body.Close()); err != nil {
		return fmt.Errorf("probe %s: %w", url, err)
	}
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("ask %s: %w: %s", url, errStatus, response.Status)
	}
	return nil
}
