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

package docker

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/moby/moby/api/types/system"
	"github.com/moby/moby/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// podmanComponent is how Podman names itself in the version it answers with.
const podmanComponent = "Podman Engine"

// Traits of Docker. 20.10, with API 1.41, is the oldest version with the private cgroup
// namespace that nodes need.
func Traits() engine.Traits {
	return engine.Traits{
		Product: "Docker", OldestMajor: 20, OldestMinor: 10,
		// ip6tables is off before, and not reported: https://docs.docker.com/engine/release-notes/27/
		IPv6NATMajor: 27,
		Socket:       "/var/run/docker.sock", RootlessSocket: "/var/run/docker.sock", SocketVariable: client.EnvOverrideHost,
		Push:             "docker push",
		BootUnit:         "docker.service",
		ReservedNetworks: []string{"bridge", "default", "host", "none"},
	}
}

// ServedByPodman connects, and reports whether it is Podman that serves Docker's API there.
func (e *Engine) ServedByPodman(ctx context.Context) (bool, error) {
	if err := e.open(ctx); err != nil {
		return false, err
	}
	version, err := e.client.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return false, fmt.Errorf("connect to the Docker engine at %s: %w", e.safeEndpoint(), e.explainConnection(ctx, err))
	}
	return isPodman(version), nil
}

func isPodman(version client.ServerVersionResult) bool {
	return slices.ContainsFunc(version.Components, func(c system.ComponentVersion) bool { return c.Name == podmanComponent })
}

// Info implements engine.Host.
func (e *Engine) Info(ctx context.Context) (engine.Info, error) {
	fail := func(err error) (engine.Info, error) {
		return engine.Info{}, fmt.Errorf("connect to the Docker engine at %s: %w", e.safeEndpoint(), err)
	}
	if err := e.open(ctx); err != nil {
		return engine.Info{}, err
	}
	version, err := e.client.ServerVersion(ctx, client.ServerVersionOptions{})
	if err != nil {
		return fail(e.explainConnection(ctx, err))
	}
	answer, err := e.client.Info(ctx, client.InfoOptions{})
	if err != nil {
		return fail(e.explainConnection(ctx, err))
	}
	out := e.hostInfo(version, answer.Info)
	if out.StorageID, err = e.storageID(ctx, out); err != nil {
		return fail(err)
	}
	return out, nil
}

// permanentNetwork is created with an engine's data, and its ID stays until they are deleted.
const permanentNetwork = "none"

// storageID adds to the engine's ID, which may be kept with the configuration and outlive
// the data, what is kept with the data only.
func (e *Engine) storageID(ctx context.Context, info engine.Info) (string, error) {
	if info.Name != "docker" {
		return info.ID, nil // Podman recreates its default networks at each call.
	}
	permanent, err := e.InspectNetwork(ctx, permanentNetwork)
	if err != nil {
		return "", err
	}
	return info.ID + "/" + permanent.ID, nil
}

func (e *Engine) hostInfo(version client.ServerVersionResult, info system.Info) engine.Info {
	out := engine.Info{
		Name: "docker", ID: info.ID, Version: version.Version, APIVersion: e.client.ClientVersion(), Endpoint: e.safeEndpoint(),
		CgroupVersion: info.CgroupVersion, CgroupDriver: info.CgroupDriver,
		StorageDriver: info.Driver,
		Architecture:  version.Arch, Kernel: info.KernelVersion, OperatingSystem: info.OperatingSystem,
		CPUs: info.NCPU, MemoryBytes: info.MemTotal,
		Time: parseTime(info.SystemTime), Warnings: info.Warnings,
	}
	if isPodman(version) {
		out.Name = "podman"
		out.ID = "" // it is another random one in every answer
	}
	if out.ID == "" {
		out.ID = engine.StoreID(info.Name, info.DockerRootDir, e.safeEndpoint())
	}
	for _, option := range info.SecurityOptions {
		switch strings.TrimPrefix(strings.SplitN(option, ",", 2)[0], "name=") {
		case "rootless":
			out.Rootless = true
		case "selinux":
			out.SELinux = true
		case "userns":
			out.UserNamespaceRemap = true
		}
	}
	return out
}

// safeEndpoint is the endpoint without the user and password it may carry.
func (e *Engine) safeEndpoint() string { return adapter.Redacted(e.endpoint) }

// explainConnection adds the remedy, and the reason where the client has lost
// it: it replaces a refused connection by a general sentence.
func (e *Engine) explainConnection(ctx context.Context, cause error) error {
	if !client.IsErrConnectionFailed(cause) {
		return typed(cause)
	}
	connection, err := e.client.Dialer()(ctx)
	if err == nil {
		connection.Close()
		return engine.WithKind(fmt.Errorf("connection accepted, but no response: %w", cause), engine.ErrUnavailable)
	}
	switch {
	case errors.Is(err, engine.ErrUnauthorized), errors.Is(err, engine.ErrUnavailable):
		return err // it says what to do
	case errors.Is(err, fs.ErrPermission):
		return engine.WithKind(fmt.Errorf("%w; %s", err, permissionRemedy()), engine.ErrUnauthorized)
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, syscall.ECONNREFUSED):
		return engine.WithKind(fmt.Errorf("%w; start it, or select another engine with DOCKER_HOST or a Docker context", err), engine.ErrUnavailable)
	default:
		return engine.WithKind(err, engine.ErrUnavailable)
	}
}

func permissionRemedy() string {
	if runtime.GOOS == "linux" {
		return "add your user to the docker group (sudo usermod --append --groups docker $USER, then log in again) or use sudo"
	}
	return "run as a user with access to the engine"
}
