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

package connect

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"go.podman.io/common/pkg/config"
	"go.podman.io/storage/pkg/homedir"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/podman"
)

// The variables of the podman command.
const (
	envConnection    = "CONTAINER_CONNECTION"
	envContainerHost = "CONTAINER_HOST"
	envSSHKey        = "CONTAINER_SSHKEY"
)

// Connection is one that "podman system connection" lists.
type Connection struct {
	Name string
	// Default is what the podman command uses when nothing is named.
	Default bool
	// Options say where it is and how to get there.
	Options podman.Options
}

// systemConnections reads those of the user: podman-connections.json and the
// section [engine] of containers.conf, with the library that podman itself reads
// them with.
func systemConnections() ([]Connection, error) { return connectionsOf(homedir.GetConfigHome) }

func connectionsOf(configHome func() (string, error)) ([]Connection, error) {
	fail := func(err error) ([]Connection, error) {
		return nil, engine.WithKind(fmt.Errorf("read Podman configuration (containers.conf and podman-connections.json): %w", err), engine.ErrInvalid)
	}
	// The library creates the directory of the user's configuration. A user without a home,
	// such as that of the manager's Pod, has none, and so no connections.
	if _, err := configHome(); errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	configuration, err := config.New(nil)
	if err != nil {
		return fail(err)
	}
	connections, err := configuration.GetAllConnections()
	if err != nil {
		return fail(err)
	}
	out := make([]Connection, 0, len(connections))
	for _, one := range connections {
		out = append(out, Connection{Name: one.Name, Default: one.Default, Options: podman.Options{
			URI: one.URI, Identity: one.Identity, Machine: one.IsMachine,
			TLSCertFile: one.TLSCert, TLSKeyFile: one.TLSKey, TLSCAFile: one.TLSCA,
		}})
	}
	return out, nil
}

// podmanEndpoint is where a Podman service may be, and who says so.
type podmanEndpoint struct {
	podman.Options
	namedBy string
}

func (e *podmanEndpoint) host() string { return e.URI }
func (e *podmanEndpoint) by() string   { return e.namedBy }

func (e *podmanEndpoint) open(ctx context.Context, timeout time.Duration) (engine.Engine, error) {
	eng, err := podman.New(e.Options)
	if err != nil {
		return nil, err
	}
	if err := answering(ctx, eng, timeout, eng.Ping); err != nil {
		return nil, err
	}
	return eng, nil
}

// podmanCandidates returns the one endpoint that is named, or the default ones.
// The variable that names a connection goes first, as with the podman command.
func podmanCandidates(options Options) ([]candidate, error) {
	if name := options.Getenv(envConnection); name != "" {
		return namedConnection(name, options)
	}
	if host := options.Getenv(envContainerHost); host != "" {
		named := podman.Options{URI: host, Identity: options.Getenv(envSSHKey)}
		return []candidate{&podmanEndpoint{Options: named, namedBy: envContainerHost}}, nil
	}
	known, err := options.Connections()
	if err != nil {
		return nil, err
	}
	if at := slices.IndexFunc(known, func(c Connection) bool { return c.Default }); at >= 0 {
		return []candidate{&podmanEndpoint{
			Options: known[at].Options,
			namedBy: fmt.Sprintf("default connection %q of Podman", known[at].Name),
		}}, nil
	}
	var out []candidate
	for _, host := range options.hosts(options.PodmanSockets, "unix://"+podman.DefaultSocket, "podman/podman.sock") {
		out = append(out, &podmanEndpoint{Options: podman.Options{URI: host}, namedBy: "default socket of Podman"})
	}
	return out, nil
}

func namedConnection(name string, options Options) ([]candidate, error) {
	known, err := options.Connections()
	if err != nil {
		return nil, err
	}
	var names []string
	for _, one := range known {
		if one.Name == name {
			return []candidate{&podmanEndpoint{
				Options: one.Options, namedBy: fmt.Sprintf("connection %q (%s)", name, envConnection),
			}}, nil
		}
		names = append(names, one.Name)
	}
	return nil, fmt.Errorf("use Podman connection %q of %s: not found; found %s (see podman system connection list): %w",
		name, envConnection, cmp.Or(strings.Join(names, ", "), "no connections"), engine.ErrInvalid)
}
