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

package podman

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/containers/podman/v5/libpod/define"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

func containerPath(name string) string { return "/containers/" + url.PathEscape(name) }

// InspectContainer implements engine.ContainerReader.
func (e *Engine) InspectContainer(ctx context.Context, name string) (engine.Container, error) {
	raw, err := e.inspect(ctx, name)
	if err != nil {
		return engine.Container{}, err
	}
	container := observed(raw)
	if container.Status == engine.StatusCreated && container.StartedAt.IsZero() {
		if container.Incomplete, err = e.startInterrupted(ctx, raw); err != nil {
			return engine.Container{}, engine.Failed("inspect", name, err)
		}
	}
	return container, nil
}

// inspect finds a container by its exact name or ID.
func (e *Engine) inspect(ctx context.Context, name string) (define.InspectContainerData, error) {
	fail := func(err error) (define.InspectContainerData, error) {
		return define.InspectContainerData{}, engine.Failed("inspect", name, err)
	}
	if name == "" {
		return fail(fmt.Errorf("no name: %w", engine.ErrInvalid))
	}
	var raw define.InspectContainerData
	err := e.call(ctx, get(containerPath(name)+"/json"), &raw)
	if isCause(err, define.ErrCtrExists) {
		// The beginning of several IDs.
		return fail(engine.ErrNotFound)
	}
	if err != nil {
		return fail(err)
	}
	if raw.ID != name && raw.Name != name {
		// Podman took the name for the beginning of an ID.
		return fail(engine.ErrNotFound)
	}
	return raw, nil
}

// container returns what to call a container by in a request. Podman takes a
// name that no container has for the beginning of an ID, so a call could reach
// another container: a name that could be one is looked up first.
func (e *Engine) container(ctx context.Context, name string) (string, error) {
	if name == "" {
		return "", fmt.Errorf("container without a name: %w", engine.ErrInvalid)
	}
	if !adapter.CouldBeID(name) {
		return name, nil
	}
	raw, err := e.inspect(ctx, name)
	if err != nil {
		return "", err
	}
	return raw.ID, nil
}

func observed(raw define.InspectContainerData) engine.Container {
	out := engine.Container{
		ID: raw.ID, Name: raw.Name, Image: raw.ImageName, ImageID: imageID(raw.Image),
		CreatedAt: raw.Created, Networks: map[string]engine.Endpoint{}, Restart: engine.RestartNever,
	}
	if raw.Config != nil {
		out.Labels = raw.Config.Labels
	}
	if raw.HostConfig != nil && raw.HostConfig.RestartPolicy != nil {
		out.Restart = observedRestartPolicy(raw.HostConfig.RestartPolicy.Name)
	}
	if raw.State != nil {
		out.Status = adapter.Status(raw.State.Status)
		out.OOMKilled, out.Error = raw.State.OOMKilled, raw.State.Error
		out.StartedAt, out.FinishedAt = when(raw.State.StartedAt), when(raw.State.FinishedAt)
		if out.Status == engine.StatusExited {
			out.ExitCode = int(raw.State.ExitCode)
		}
	}
	if raw.NetworkSettings != nil {
		for name, at := range raw.NetworkSettings.Networks {
			out.Networks[name] = endpoint(at)
		}
		// Podman reports what would be published also of a container that does
		// not run.
		if holdsPorts(out.Status) {
			out.Ports = publishedPorts(raw.NetworkSettings.Ports)
		}
	}
	return out
}

func holdsPorts(now engine.Status) bool {
	return now == engine.StatusRunning || now == engine.StatusPaused
}

// imageID adds what Podman leaves out.
func imageID(id string) string {
	if id == "" || strings.Contains(id, ":") {
		return id
	}
	return "sha256:" + id
}

// when returns the zero time for the times before 1970 that stand for none.
func when(at time.Time) time.Time {
	if at.Unix() <= 0 {
		return time.Time{}
	}
	return at
}

func endpoint(at *define.InspectAdditionalNetwork) engine.Endpoint {
	if at == nil {
		return engine.Endpoint{}
	}
	return engine.Endpoint{Addresses: adapter.Addresses(at.IPAddress, at.GlobalIPv6Address)}
}

func publishedPorts(ports map[string][]define.InspectHostPort) []engine.PortBinding {
	var out []engine.PortBinding
	for name, bindings := range ports {
		number, protocolName, _ := strings.Cut(name, "/")
		containerPort, err := strconv.ParseUint(number, 10, 16)
		protocol, isOurs := engine.ParseProtocol(protocolName)
		if err != nil || !isOurs {
			continue
		}
		for _, at := range bindings {
			hostPort, err := strconv.ParseUint(at.HostPort, 10, 16)
			if err != nil {
				continue
			}
			// Empty is all addresses.
			hostAddress, _ := netip.ParseAddr(at.HostIP)
			out = append(out, adapter.Binding(hostAddress, uint16(hostPort), uint16(containerPort), protocol))
		}
	}
	return adapter.Distinct(out)
}

// summary is an element of Podman's list.
type summary struct {
	ID      string `json:"Id"`
	Names   []string
	Labels  map[string]string
	Image   string
	ImageID string
	State   string
	Created time.Time
	// Networks it is configured to be on, whether it runs or not.
	Networks []string
}

// ListContainers implements engine.ContainerReader.
func (e *Engine) ListContainers(ctx context.Context, selector map[string]string) ([]engine.Container, error) {
	answers, err := e.list(ctx, labelFilter(selector))
	if err != nil {
		return nil, err
	}
	// Podman's filter takes an asterisk for a pattern.
	answers = slices.DeleteFunc(answers, func(s summary) bool { return !adapter.Carries(s.Labels, selector) })
	return adapter.List(answers, listed, func(c engine.Container) string { return c.Name }), nil
}

func (e *Engine) list(ctx context.Context, filters map[string][]string) ([]summary, error) {
	var answers []summary
	if err := e.call(ctx, get("/containers/json").with("all", "true").filtered(filters), &answers); err != nil {
		return nil, fmt.Errorf("list containers: %w", err)
	}
	return answers, nil
}

func labelFilter(selector map[string]string) map[string][]string {
	if len(selector) == 0 {
		return nil
	}
	return map[string][]string{"label": adapter.Terms(selector)}
}

func listed(one summary) engine.Container {
	out := engine.Container{
		ID: one.ID, Labels: one.Labels, Image: one.Image, ImageID: imageID(one.ImageID),
		Status: adapter.Status(one.State), CreatedAt: one.Created, Networks: map[string]engine.Endpoint{},
	}
	if len(one.Names) > 0 {
		out.Name = one.Names[0]
	}
	if holdsPorts(out.Status) {
		for _, network := range one.Networks {
			out.Networks[network] = engine.Endpoint{}
		}
	}
	return out
}

// running returns the running containers that Podman lists for the filters, as
// inspection shows them: its list has neither addresses nor, as they are now,
// ports. It is for explaining a conflict, not for each reconcile. A container
// that is gone by then is left out.
func (e *Engine) running(ctx context.Context, filters map[string][]string) ([]engine.Container, error) {
	answers, err := e.list(ctx, filters)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, one := range answers {
		if holdsPorts(adapter.Status(one.State)) {
			ids = append(ids, one.ID)
		}
	}
	inspected, err := e.inspectAll(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make([]engine.Container, 0, len(inspected))
	for _, raw := range inspected {
		out = append(out, observed(raw))
	}
	return out, nil
}

// inspectors is how many containers are inspected concurrently: Podman locks each for
// a few milliseconds, and more only wait for its processors.
const inspectors = 8

// inspectAll returns those of the containers that are still there.
func (e *Engine) inspectAll(ctx context.Context, ids []string) ([]define.InspectContainerData, error) {
	answers, errs := make([]define.InspectContainerData, len(ids)), make([]error, len(ids))
	adapter.Each(len(ids), inspectors, func(i int) {
		answers[i], errs[i] = e.inspect(ctx, ids[i])
		errs[i] = engine.IgnoreNotFound(errs[i])
	})
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(answers, func(raw define.InspectContainerData) bool { return raw.ID == "" }), nil
}
