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

// Package doctor is the command that checks whether an engine and its host can run clusters.
package doctor

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/records"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/internal/preflight"
)

// options say what doctor checks, and how it prints the results.
type options struct {
	// nodes that the host has to run; 0 = those it has.
	nodes  int
	output string
}

// Command is capcon doctor.
func Command(a *session.App) *cobra.Command {
	var options options
	command := &cobra.Command{
		Use:   "doctor",
		Short: "Check whether the engine and the host can run clusters",
		Long: "Check the requirements of clusters on the engine and the host. Print problems with remedies, and available images.\n" +
			"No management plane is required. The host is inspected with a probe container, which is then removed.\n" +
			"The exit code is 1 if a check failed, and 0 if there are only warnings.",
		Example:           "  capcon doctor\n  capcon doctor --nodes 6\n  capcon doctor -o json",
		Args:              cobra.NoArgs,
		RunE:              func(command *cobra.Command, _ []string) error { return run(command.Context(), a, options) },
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
	Host   HostReport           `json:"host"`
	// Nodes that the numbers are judged for.
	Nodes  int             `json:"nodes"`
	Images []images.Report `json:"images"`
	// Probed says that a container looked at the host.
	Probed bool         `json:"probed"`
	Items  []itemReport `json:"items"`
	// OK is false where an item is an error.
	OK bool `json:"ok"`
}

// HostReport describes the host of an engine.
type HostReport struct {
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

// run prints what is missing. It ends with session.ErrReported where that keeps
// clusters from working.
func run(ctx context.Context, a *session.App, options options) error {
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
func diagnose(ctx context.Context, a *session.App, options options) (diagnosis, error) {
	found := diagnosis{Nodes: max(options.nodes, 1), Images: []images.Report{}}
	facts := preflight.Facts{Nodes: found.Nodes, IPv6: true}
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
	a.Connected = records.Connected(facts.Engine)
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

// ReportHost is what an engine says of its host.
func ReportHost(info engine.Info) HostReport {
	return HostReport{
		OperatingSystem: info.OperatingSystem, Kernel: info.Kernel, Architecture: info.Architecture,
		CgroupVersion: info.CgroupVersion, CgroupDriver: info.CgroupDriver, StorageDriver: info.StorageDriver,
		Rootless: info.Rootless, CPUs: info.CPUs, MemoryBytes: info.MemoryBytes,
	}
}

// judge the facts and note what the engine said of itself.
func (d diagnosis) judge(facts preflight.Facts, extra ...preflight.Item) diagnosis {
	info := facts.Engine
	d.Engine = session.ReportEngine(info)
	d.Engine.Warnings = info.Warnings
	if facts.EngineError != nil {
		d.Engine.Error = facts.EngineError.Error()
	}
	d.Host = ReportHost(info)
	d.Probed = facts.Host != nil
	items := append(preflight.Check(facts), extra...)
	d.OK, d.Items = !preflight.Failed(items), []itemReport{}
	for _, item := range items {
		d.Items = append(d.Items, itemReport{item.Name, item.Severity, item.Message, item.Remedy})
	}
	return d
}
