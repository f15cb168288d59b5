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
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/docker/cli/cli/config"
	dockercontext "github.com/docker/cli/cli/context"
	contextdocker "github.com/docker/cli/cli/context/docker"
	"github.com/docker/cli/cli/context/store"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/docker"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/podman"
)

// The variables of the docker command.
const (
	envHost      = "DOCKER_HOST"
	envTLS       = "DOCKER_TLS"
	envTLSVerify = "DOCKER_TLS_VERIFY"
	envCertPath  = "DOCKER_CERT_PATH"
	envContext   = "DOCKER_CONTEXT"
	envConfig    = "DOCKER_CONFIG"

	// defaultContext is the name of what the docker command uses when no
	// context is chosen.
	defaultContext = "default"
)

// dockerEndpoint is where a Docker engine may be, and who says so.
type dockerEndpoint struct {
	at, namedBy   string
	tls           *dockercontext.TLSData
	skipTLSVerify bool
	// servedByPodman is who answered at last.
	servedByPodman bool
}

func (e *dockerEndpoint) host() string { return e.at }

func (e *dockerEndpoint) by() string {
	if e.servedByPodman {
		return e.namedBy + ", which Podman serves"
	}
	return e.namedBy
}

// open connects, and once more in Podman's own language where Podman serves what
// was named for Docker: its Docker API hides what the provider needs. It stays
// with that API only where there is no other.
func (e *dockerEndpoint) open(ctx context.Context, timeout time.Duration) (engine.Engine, error) {
	endpoint := contextdocker.Endpoint{
		EndpointMeta: contextdocker.EndpointMeta{Host: e.at, SkipTLSVerify: e.skipTLSVerify},
		TLSData:      e.tls,
	}
	clientOptions, err := endpoint.ClientOpts()
	if err != nil {
		return nil, engine.WithKind(fmt.Errorf("use Docker endpoint %s: %w", adapter.Redacted(e.at), err), engine.ErrInvalid)
	}
	eng, err := docker.New(e.at, clientOptions...)
	if err != nil {
		return nil, engine.WithKind(fmt.Errorf("use Docker endpoint %s: %w", adapter.Redacted(e.at), err), engine.ErrInvalid)
	}
	err = answering(ctx, eng, timeout, func(ctx context.Context) error {
		e.servedByPodman, err = eng.ServedByPodman(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	if !e.servedByPodman || e.tls != nil {
		return eng, nil
	}
	own := podmanEndpoint{Options: podman.Options{URI: e.at}}
	native, err := own.open(ctx, timeout)
	if err != nil {
		return eng, nil //nolint:nilerr // it answered: only not in Podman's own language
	}
	return native, eng.Close()
}

// dockerCandidates returns the one endpoint that is named, or the default ones.
func dockerCandidates(options Options) ([]candidate, error) {
	if host := options.Getenv(envHost); host != "" {
		named, err := fromEnvironment(host, options.Getenv)
		return []candidate{named}, err
	}
	directory := configDirectory(options.Getenv)
	name, by := options.Getenv(envContext), envContext
	if name == "" {
		file, err := config.Load(directory)
		if err != nil {
			return nil, engine.WithKind(fmt.Errorf("read Docker configuration in %s: %w", directory, err), engine.ErrInvalid)
		}
		name, by = file.CurrentContext, "current context of "+filepath.Join(directory, config.ConfigFileName)
	}
	if name != "" && name != defaultContext {
		named, err := fromContext(name, by, directory)
		return []candidate{named}, err
	}
	return defaults(options), nil
}

func configDirectory(getenv func(string) string) string {
	if directory := getenv(envConfig); directory != "" {
		return directory
	}
	return filepath.Join(home(runtime.GOOS, getenv), ".docker")
}

// home is the directory of the user, as os.UserHomeDir has it.
func home(system string, getenv func(string) string) string {
	if system == "windows" {
		return getenv("USERPROFILE")
	}
	return getenv("HOME")
}

func defaults(options Options) []candidate {
	var out []candidate
	for _, host := range options.hosts(options.Sockets, docker.DefaultHost, "docker.sock") {
		out = append(out, &dockerEndpoint{at: host, namedBy: "default socket of Docker"})
	}
	return out
}

// fromEnvironment applies the TLS variables as the docker command does:
// DOCKER_TLS_VERIFY turns TLS on and checks the server, DOCKER_TLS turns it on
// without; the certificates are those in DOCKER_CERT_PATH, or else in the
// configuration's directory.
func fromEnvironment(host string, getenv func(string) string) (*dockerEndpoint, error) {
	out := &dockerEndpoint{at: host, namedBy: envHost}
	verify := getenv(envTLSVerify) != ""
	if !verify && getenv(envTLS) == "" {
		return out, nil
	}
	directory := getenv(envCertPath)
	if directory == "" {
		directory = configDirectory(getenv)
	}
	tls, err := dockercontext.TLSDataFromFiles(
		existing(directory, "ca.pem"), existing(directory, "cert.pem"), existing(directory, "key.pem"))
	if err != nil {
		return out, engine.WithKind(fmt.Errorf("read TLS files in %s: %w", directory, err), engine.ErrInvalid)
	}
	if verify && existing(directory, "ca.pem") == "" && getenv(envCertPath) != "" {
		return out, engine.WithKind(fmt.Errorf("%s is %s, which has no ca.pem", envCertPath, directory), engine.ErrInvalid)
	}
	if tls == nil {
		// Without any file TLS is still requested, with the host's
		// authorities.
		tls = &dockercontext.TLSData{}
	}
	out.tls, out.skipTLSVerify = tls, !verify
	return out, nil
}

// existing returns the path of a file, or "" where there is none.
func existing(directory, name string) string {
	path := filepath.Join(directory, name)
	if _, err := os.Stat(path); errors.Is(err, os.ErrNotExist) {
		return ""
	}
	return path
}

func fromContext(name, by, directory string) (*dockerEndpoint, error) {
	out := &dockerEndpoint{namedBy: fmt.Sprintf("context %q (%s)", name, by)}
	fail := func(err error) (*dockerEndpoint, error) {
		return out, engine.WithKind(fmt.Errorf("use Docker context %q of %s (see docker context ls): %w", name, by, err), engine.ErrInvalid)
	}
	contexts := store.New(filepath.Join(directory, "contexts"), store.NewConfig(
		func() any { return &map[string]any{} },
		store.EndpointTypeGetter(contextdocker.DockerEndpoint, func() any { return &contextdocker.EndpointMeta{} }),
	))
	metadata, err := contexts.GetMetadata(name)
	if err != nil {
		return fail(err)
	}
	meta, err := contextdocker.EndpointFromContext(metadata)
	if err != nil {
		return fail(err)
	}
	full, err := contextdocker.WithTLSData(contexts, name, meta)
	if err != nil {
		return fail(err)
	}
	out.at, out.tls, out.skipTLSVerify = full.Host, full.TLSData, full.SkipTLSVerify
	return out, nil
}
