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

package command

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/internal/preflight"
)

// doctorOptions say what doctor checks, and how it prints the results.
type doctorOptions struct {
	// nodes that the host has to run; 0 = those it has.
	nodes  int
	output string
}

func doctorCommand(a *session.App) *cobra.Command {
	var options doctorOptions
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Check whether the engine and the host can run clusters",
		Long: "Check the requirements of clusters on the engine and the host. Print problems with remedies, and available images.\n" +
			"No management plane is required. The host is inspected with a probe container, which is then removed.\n" +
			"The exit code is 1 if a check failed, and 0 if there are only warnings.",
		Example:           "  capcon doctor\n  capcon doctor --nodes 6\n  capcon doctor -o json",
		Args:              cobra.NoArgs,
		RunE:              func(command *cobra.Command, _ []string) error { return runDoctor(command.Context(), a, options) },
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	command.Flags().IntVar(&options.nodes, "nodes", 0, "number of machines of all clusters to check for; 0 = existing ones")
	output.AddFlag(command, &options.output)
	command.PreRunE = func(*cobra.Command, []string) error {
		nodes := input.CheckNotNegative("--nodes", options.nodes, "use the number of machines of all clusters")
		return input.Refuse(append(output.CheckFormat(options.output), nodes...)...)
	}
	return command
}

// diagnosis is what doctor prints, and with "-o json" its fields are an
// interface that scripts rely on.
type diagnosis struct {
	Engine session.EngineReport `json:"engine"`
	Host   hostReport           `json:"host"`
	// Nodes that the numbers are judged for.
	Nodes  int             `json:"nodes"`
	Images []images.Report `json:"images"`
	// Probed says that a container looked at the host.
	Probed bool         `json:"probed"`
	Items  []itemReport `json:"items"`
	// OK is false where an item is an error.
	OK bool `json:"ok"`
}

type hostReport struct {
	OperatingSystem string `json:"operatingSystem,omitempty"`
	Kernel          string `json:"kernel,omitempty"`
	Architecture    string `json:"architecture,omitempty"`
	CgroupVersion   string `json:"cgroupVersion,omitempty"`
	CgroupDriver    string `json:"cgroupDriver,omitempty"`
	StorageDriver   string `json:"storageDriver,omitempty"`
	Rootless        bool   `json:"rootless"`
	CPUs            int    `json:"cpus,omitempty"`
	MemoryBytes     int64  `json:"memoryBytes,omitempty"`
}

type itemReport struct {
	Name     string             `json:"name"`
	Severity preflight.Severity `json:"severity"`
	Message  string             `json:"message"`
	Remedy   string             `json:"remedy"`
}

// doctor prints what is missing. It ends with session.ErrReported where that keeps
// clusters from working.
func runDoctor(ctx context.Context, a *session.App, options doctorOptions) error {
	found, err := diagnose(ctx, a, options)
	if err != nil {
		return err
	}
	err = a.Print(options.output, found, func() error { return printDiagnosis(a, found) })
	if err == nil && !found.OK {
		return session.ErrReported
	}
	return err
}

// diagnose engine and host. An engine that cannot be reached is an item, and
// no error.
func diagnose(ctx context.Context, a *session.App, options doctorOptions) (diagnosis, error) {
	found := diagnosis{Nodes: max(options.nodes, 1), Images: []images.Report{}}
	facts := preflight.Facts{Nodes: found.Nodes}
	e, err := a.ConnectEngine(ctx)
	if err != nil {
		if ctx.Err() != nil || errors.Is(err, engine.ErrInvalid) {
			return found, err
		}
		facts.EngineError = err
		return found.judge(facts), nil
	}
	defer func() { _ = e.Close() }()
	facts.Asked = a.Now()
	facts.Engine, facts.EngineError = e.Info(ctx)
	facts.Answered = a.Now()
	if facts.EngineError != nil {
		return found.judge(facts), ctx.Err()
	}
	a.Connected = fmt.Sprintf("%s %s at %s", facts.Engine.Name, facts.Engine.Version, facts.Engine.Endpoint)
	if found.Images, err = images.List(ctx, e); err != nil {
		return found, err
	}
	if facts.Existing, err = countNodes(ctx, e); err != nil {
		return found, err
	}
	if options.nodes == 0 {
		facts.Nodes = facts.Existing
	}
	host, extra, err := lookAtHost(ctx, e, found.Images)
	if err != nil {
		return found, err
	}
	if plane.IsRemote(facts.Engine) {
		extra = append(extra, preflight.Item{
			Name: "EngineRemote", Severity: preflight.SeverityWarning,
			Message: "the engine is on another host, and its published ports are not reachable from this one",
			Remedy:  "run \"capcon tunnel\" while you use kubectl",
		})
	}
	extra = append(extra, checkBoot(ctx, a.Systemd, facts.Engine)...)
	facts.Host, found.Nodes = host, max(facts.Nodes, 1)
	return found.judge(facts, extra...), nil
}

// judge the facts and note what the engine said of itself.
func (d diagnosis) judge(facts preflight.Facts, extra ...preflight.Item) diagnosis {
	info := facts.Engine
	d.Engine = session.ReportEngine(info)
	d.Engine.Warnings = info.Warnings
	if facts.EngineError != nil {
		d.Engine.Error = facts.EngineError.Error()
	}
	d.Host = hostReport{
		OperatingSystem: info.OperatingSystem, Kernel: info.Kernel, Architecture: info.Architecture,
		CgroupVersion: info.CgroupVersion, CgroupDriver: info.CgroupDriver, StorageDriver: info.StorageDriver,
		Rootless: info.Rootless, CPUs: info.CPUs, MemoryBytes: info.MemoryBytes,
	}
	d.Probed = facts.Host != nil
	items := append(preflight.Check(facts), extra...)
	d.OK, d.Items = !preflight.Failed(items), []itemReport{}
	for _, item := range items {
		d.Items = append(d.Items, itemReport{item.Name, item.Severity, item.Message, item.Remedy})
	}
	return d
}

// countNodes that the engine has, of any cluster.
func countNodes(ctx context.Context, e engine.ContainerReader) (int, error) {
	count := 0
	for _, role := range []identity.Role{identity.RoleControlPlane, identity.RoleWorker} {
		containers, err := e.ListContainers(ctx, map[string]string{identity.LabelRole: string(role)})
		if err != nil {
			return 0, fmt.Errorf("count nodes: %w", err)
		}
		count += len(containers)
	}
	return count, nil
}

// lookAtHost with a container of an image that is there. What keeps it from
// looking is an item, and no error.
func lookAtHost(ctx context.Context, e engine.Engine, present []images.Report) (*preflight.Host, []preflight.Item, error) {
	probe := preflight.ProbeContainer{
		Name:   "capcon-probe-" + strings.ToLower(rand.Text()[:8]),
		Labels: map[string]string{identity.LabelRole: string(identity.RoleProbe)},
		Image:  probeImage(present),
	}
	if probe.Image == "" {
		return nil, []preflight.Item{{
			Name: "HostUnknown", Severity: preflight.SeverityWarning,
			Message: "the host was not checked, because no image is available to run a probe container",
			Remedy:  "build the images (make images), load them (capcon images load FILE), or create a cluster (capcon up NAME), and try again",
		}}, nil
	}
	var items []preflight.Item
	remove, err := ensureProbeNetwork(ctx, e, &probe)
	var unusable *network.UnusableError
	switch {
	case errors.As(err, &unusable):
		items = append(items, preflight.Item{
			Name: "Network", Severity: preflight.SeverityWarning,
			Message: fmt.Sprintf("network %q, the default of clusters, %s", unusable.Network, unusable.Reason),
			Remedy:  unusable.Remedy + "; or use capcon up --network",
		})
	case err != nil:
		return nil, nil, err
	}
	host, err := preflight.Probe(ctx, e, probe)
	if err = errors.Join(err, remove(ctx)); err != nil {
		return nil, nil, fmt.Errorf("inspect host: %w", err)
	}
	return &host, items, nil
}

// probeImage is the first that has a shell.
func probeImage(present []images.Report) string {
	for _, image := range present {
		if image.Present && image.Use != string(images.Plane) {
			return image.Reference
		}
	}
	return ""
}

// ensureProbeNetwork puts the probe on the clusters' network, and returns what
// removes that again if it was not there: the engine's default one, which no
// cluster needs, may not work. Not usable: the engine's default one, and a
// *network.UnusableError.
func ensureProbeNetwork(ctx context.Context, e engine.Networks, probe *preflight.ProbeContainer) (func(context.Context) error, error) {
	stay := func(context.Context) error { return nil }
	_, err := e.InspectNetwork(ctx, network.DefaultName)
	absent := errors.Is(err, engine.ErrNotFound)
	if err != nil && !absent {
		return stay, fmt.Errorf("inspect network %q: %w", network.DefaultName, err)
	}
	if _, err := network.Ensure(ctx, e, network.Request{Name: network.DefaultName}); err != nil {
		return stay, err
	}
	probe.Network = network.DefaultName
	if !absent {
		return stay, nil
	}
	return func(ctx context.Context) error {
		// Also when the user interrupts. One that is in use meanwhile stays.
		_, err := network.Remove(context.WithoutCancel(ctx), e, network.DefaultName)
		return err
	}, nil
}
