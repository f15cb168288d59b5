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

// Package supportbundle is the command that collects what a bug report needs of a cluster.
package supportbundle

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/status"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/doctor"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/artifacts"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/logs"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/internal/release"
)

// Command is capcon support-bundle.
func Command(a *session.App) *cobra.Command {
	var file string
	command := &cobra.Command{
		Use:   "support-bundle NAME",
		Short: "Collect logs, objects and status of a cluster in one file",
		Long: "Collect information about a cluster in one .tar.gz file, for a bug report: the\n" +
			"cluster's objects and Events, its status, the engine, the logs of its containers and of the management plane.\n" +
			"Secret objects are not included; secrets in bootstrap data, and other texts that look like secrets, are\n" +
			"redacted. Errors of the collection are listed in errors.txt. Clusters created by this user require no\n" +
			"management plane.",
		Example: "  capcon support-bundle demo\n  capcon support-bundle demo --file /tmp/demo.tar.gz",
		Args:    a.OneCluster,
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, args []string) error {
			return run(ctx, s, args[0], file)
		}),
		ValidArgsFunction: a.CompleteNames,
	}
	command.Flags().StringVar(&file, "file", "", "path of the file, which must not exist (default: support-bundle-NAME-TIME.tar.gz in this directory)")
	return command
}

func run(ctx context.Context, s *session.Session, name, path string) error {
	owner, err := s.OwnerOf(ctx, name)
	if err != nil && !errors.Is(err, session.ErrNoContainers) {
		return err
	}
	root := "support-bundle-" + name + "-" + s.Now().UTC().Format("20060102T150405Z")
	path = cmp.Or(path, root+".tar.gz")
	b, err := createBundle(path, root, s.Now())
	if err != nil {
		return err
	}
	complete := collect(ctx, s, b, name, owner)
	// A file that is not complete would look as if it were.
	if err := errors.Join(b.close(), ctx.Err()); err != nil {
		return errors.Join(fmt.Errorf("write support bundle: %w", err), os.Remove(path))
	}
	if err := printBundle(s.App, b, path); err != nil || complete {
		return err
	}
	return session.ErrReported
}

func printBundle(a *session.App, b *bundle, path string) error {
	info, err := os.Stat(path)
	if err != nil {
		return fmt.Errorf("inspect support bundle: %w", err)
	}
	for _, failure := range b.failures {
		a.Errorf("Not collected: %s", failure)
	}
	a.Printf("Wrote %s: %d bytes, %s.", path, info.Size(), output.Plural(b.files, "file"))
	a.Printf("Review the file before you share it: secrets that match no known pattern and are not in bootstrap data are not redacted.")
	return nil
}

// collect all parts. One that fails is noted, and the others are collected. It reports whether the engines of the cluster were reached.
func collect(ctx context.Context, s *session.Session, b *bundle, name string, owner identity.Owner) (reached bool) {
	// First: without them the other parts would have secrets.
	b.note("objects and bootstrap data", collectObjects(ctx, s, b, name))
	report, err := status.Inspect(ctx, s, name)
	b.note("status", errors.Join(err, b.json("status.json", report)))
	b.note("host", b.json("host.json", describeHost(s.Info)))
	on, err := s.Of(ctx, name)
	if on != nil && on != s {
		b.note("engine", b.json("engine.json", describeHost(on.Info)))
	}
	if owner.ID != "" {
		err = collectContainers(ctx, s, on, b, owner) // It names the engines that are not reached, too.
	}
	b.note("containers", err)
	b.note("management plane", collectPlane(ctx, s, b))
	silent := new(session.EngineError)
	return !errors.As(err, &silent)
}

// objectsTimeout bounds all reads of the objects: each kind is tried.
const objectsTimeout = 2 * time.Minute

// errPlaneSilent is why there are no objects. The status has the details.
var errPlaneSilent = errors.New("the management plane is not ready: objects are missing, " +
	"and secrets are redacted by pattern only, without the bootstrap data")

func collectObjects(ctx context.Context, s *session.Session, b *bundle, name string) error {
	if s.Client == nil {
		return errPlaneSilent
	}
	ctx, cancel := context.WithTimeout(ctx, objectsTimeout)
	defer cancel()
	secrets, err := management.BootstrapSecrets(ctx, s.Client, management.Namespace, name)
	if err != nil {
		err = fmt.Errorf("secrets are redacted by pattern only: %w", err)
	}
	b.secrets = secrets
	objects, events, failed := management.Dump(ctx, s.Client, management.Namespace, name)
	errs := []error{err, failed}
	for _, object := range objects {
		errs = append(errs, b.yaml("objects/"+object.GetKind()+"/"+object.GetName()+".yaml", object))
	}
	if len(events) > 0 {
		errs = append(errs, b.yaml("events.yaml", events...))
	}
	return errors.Join(errs...)
}

// hostDescription is the part of doctor's report that needs no container.
type hostDescription struct {
	Capcon string               `json:"capcon"`
	Engine session.EngineReport `json:"engine"`
	Host   doctor.HostReport    `json:"host"`
}

func describeHost(info engine.Info) hostDescription {
	reported := session.ReportEngine(info)
	reported.Warnings = info.Warnings
	return hostDescription{Capcon: release.Program(), Engine: reported, Host: doctor.ReportHost(info)}
}

// collectContainers on all engines that are reached, and what is known of these; home has the load balancer, and is nil if it is not reached.
func collectContainers(ctx context.Context, s, home *session.Session, b *bundle, owner identity.Owner) error {
	containers, err := s.Containers(ctx, owner)
	errs := []error{err}
	described := []string{s.EngineName}
	if home != nil {
		described = append(described, home.EngineName)
	}
	for _, container := range containers {
		if name := container.On.EngineName; !slices.Contains(described, name) {
			described = append(described, name)
			errs = append(errs, b.json("engine-"+name+".json", describeHost(container.On.Info)))
		}
		collector := artifacts.Collector{Engine: container.On.Engine, Write: func(name string, content []byte) error {
			return b.add("containers/"+container.Name+"/"+name, content)
		}}
		collect := collector.Node
		if identity.Role(container.Labels[identity.LabelRole]).IsLoadBalancer() {
			collect = collector.LoadBalancer
		}
		errs = append(errs, collect(ctx, container.Name, b.secrets))
	}
	return errors.Join(errs...)
}

func collectPlane(ctx context.Context, s *session.Session, b *bundle) error {
	log := logs.Log{Container: plane.DefaultName, Source: logs.Console, Secrets: b.secrets}
	text, err := log.Read(ctx, s.Engine, session.PlaneLogLines)
	if err != nil || text == "" {
		return err
	}
	return b.add("management-plane.log", []byte(text))
}
