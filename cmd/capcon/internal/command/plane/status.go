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

package plane

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/internal/release"
)

// report is the output of plane status, and with "-o json" its fields are an interface that scripts rely on.
type report struct {
	Engine session.EngineReport `json:"engine"`
	Name   string               `json:"name"`
	// Capcon is the version of this program.
	Capcon string `json:"capcon"`
	Exists bool   `json:"exists"`
	// InMemory says that its clusters are in memory.
	InMemory bool `json:"inMemory"`
	Ready    bool `json:"ready"`
	// Detail says why it is not ready.
	Detail string `json:"detail,omitempty"`
	Image  string `json:"image,omitempty"`
	// Release of its image; empty for an image of another origin.
	Release string `json:"release,omitempty"`
	// Skew describes a release that differs from that of capcon.
	Skew string `json:"skew,omitempty"`
	// Kubernetes is the version of its API server.
	Kubernetes string     `json:"kubernetes,omitempty"`
	Providers  []provider `json:"providers,omitempty"`
	// Clusters is how many it has.
	Clusters int `json:"clusters"`
	// Kept says that it stays when the last cluster is deleted.
	Kept bool `json:"kept"`
}

// provider of Cluster API.
type provider struct {
	Name    string `json:"name"`
	Version string `json:"version"`
}

func statusCommand(a *session.App) *cobra.Command {
	var format string
	command := &cobra.Command{
		Use:   "status",
		Short: "Show the state of the management cluster, and its versions",
		Long: "Show the state of the management cluster, the versions of what runs in it, and whether its release differs\n" +
			"from that of capcon. The exit code is 0 if it is ready, 4 if it exists and is not ready, and 1 if there is\n" +
			"none or the engine is unavailable.",
		Args: cobra.NoArgs,
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, _ []string) error {
			return status(ctx, s, format)
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	output.AddFlag(command, &format)
	return command
}

func status(ctx context.Context, s *session.Session, format string) error {
	found, err := s.ReachPlane(ctx)
	if err != nil {
		return err
	}
	skew := images.SkewOfPlane(found.Image)
	result := report{
		Engine: session.ReportEngine(s.Info), Name: plane.DefaultName, Capcon: release.Program(), Exists: found.Exists, InMemory: found.InMemory, Ready: found.Answers,
		Detail: found.Detail, Image: found.Image, Release: skew.Plane, Skew: skew.String(),
	}
	if found.Answers {
		err = result.query(ctx, s)
	}
	printed := s.Print(format, result, func() error { return printStatus(s, result) })
	switch {
	case cmp.Or(printed, err) != nil:
		return cmp.Or(printed, err)
	case !found.Exists:
		return fmt.Errorf("no management cluster found on %s; start it with \"%s plane up\"", s.Connected, s.Program)
	case !found.Answers:
		return &session.ExitCodeError{Code: session.ExitNotYet, Err: session.ErrReported}
	}
	return nil
}

// query a plane that answers.
func (r *report) query(ctx context.Context, s *session.Session) error {
	clusters, err := management.Clusters(ctx, s.Client)
	if err != nil {
		return err
	}
	r.Clusters = len(clusters)
	if r.Kept, err = management.IsKept(ctx, s.Client); err != nil {
		return err
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(schema.GroupVersionKind{Group: "clusterctl.cluster.x-k8s.io", Version: "v1alpha3", Kind: "ProviderList"})
	if err := s.Client.List(ctx, list); err != nil {
		return fmt.Errorf("list Providers: %w", err)
	}
	for _, item := range list.Items {
		version, _, _ := unstructured.NestedString(item.Object, "version") // empty where it is no text
		r.Providers = append(r.Providers, provider{item.GetName(), version})
	}
	// The program itself reports its version without another connection.
	printed, err := s.Engine.Exec(ctx, plane.DefaultName, engine.Command{Args: []string{"kube-apiserver", "--version"}})
	if err == nil {
		r.Kubernetes = strings.TrimSpace(strings.TrimPrefix(string(printed.Stdout), "Kubernetes "))
	}
	return nil
}

func printStatus(s *session.Session, r report) error {
	state := "not found"
	switch {
	case r.Ready:
		state = "ready"
	case r.Exists:
		state = "not ready: " + r.Detail
	}
	lines := []string{
		"Engine\t" + r.Engine.String(),
		"Management cluster\t" + r.Name,
		"State\t" + state,
		"capcon\t" + r.Capcon,
	}
	add := func(name, value string) {
		if value != "" {
			lines = append(lines, name+"\t"+value)
		}
	}
	add("Image", r.Image)
	add("Release", r.Release)
	add("Skew", r.Skew)
	add("Kubernetes", r.Kubernetes)
	for _, provider := range r.Providers {
		add("Provider "+provider.Name, provider.Version)
	}
	if r.InMemory {
		add("Mode", "clusters are in memory, without containers")
	}
	if r.Ready {
		add("Clusters", fmt.Sprint(r.Clusters))
	}
	if r.Kept {
		add("Kept", fmt.Sprintf("until \"%s plane down\"", s.Program))
	}
	return s.Table(lines)
}
