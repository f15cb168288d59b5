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

// Package engineobject makes the client of the engine that a ContainerEngine and its Secret name, for the manager and
// for capcon. It decides neither whether the endpoint is allowed nor whether the right engine responds.
package engineobject

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/remote"
)

// CredentialsOf the data of a Secret, by the keys of the API.
func CredentialsOf(data map[string][]byte) remote.Credentials {
	return remote.Credentials{
		CA: data[infrav1.EngineCAKey], Certificate: data[infrav1.EngineCertificateKey], Key: data[infrav1.EngineKeyKey],
		SSHKey: data[infrav1.EngineSSHKeyKey], KnownHosts: data[infrav1.EngineKnownHostsKey],
	}
}

// Digest of credentials: others have another one.
func Digest(credentials remote.Credentials) (string, error) {
	content, err := json.Marshal(credentials)
	if err != nil {
		return "", fmt.Errorf("encode credentials: %w", err)
	}
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:]), nil
}

// Open returns an engine over connections that dial makes, as connect.Remote does.
type Open func(endpoint string, dial connect.Dial) engine.Engine

// Client of an engine on another host.
type Client struct {
	engine.Engine
	// Dialer of its connections, whose credentials can be replaced.
	Dialer *remote.Dialer
}

// NewClient has not dialed yet: the first call does. Credentials that cannot be used: a *remote.CredentialsError.
func NewClient(at endpoint.Endpoint, credentials remote.Credentials, open Open) (*Client, error) {
	dialer, err := remote.New(at, credentials)
	if err != nil {
		return nil, err //nolint:wrapcheck // It says which of the credentials.
	}
	return &Client{Engine: open(at.String(), dialer.Dial), Dialer: dialer}, nil
}

// Close implements engine.Host. It ends connections that are in use.
func (c *Client) Close() error {
	c.Dialer.Close()
	return c.Engine.Close()
}
