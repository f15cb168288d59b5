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

package contract

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/contract/internal/core"
	"github.com/capi-samples/cluster-api-provider-container/contract/internal/environment"
	"github.com/capi-samples/cluster-api-provider-container/contract/internal/manifests"
)

// ReportVariable names a directory for the report of Run.
const ReportVariable = "CONTRACT_REPORT"

// errUnknownRule means that an exception is for a rule that does not exist.
var errUnknownRule = errors.New("exception for a rule that does not exist")

// Run tests a provider, with a subtest for each rule. It skips under -short, because it runs an API
// server. It writes the report to the directory in CONTRACT_REPORT.
func Run(t *testing.T, p Provider) *Report {
	t.Helper()
	if testing.Short() {
		t.Skip("runs etcd and kube-apiserver; leave out -short for it")
	}
	p.progress = t.Logf
	report, err := Test(t.Context(), p)
	if err != nil {
		t.Fatalf("test the contract: %v", err)
	}
	if directory := os.Getenv(ReportVariable); directory != "" {
		if err := report.Write(directory); err != nil {
			t.Errorf("write the report: %v", err)
		}
	}
	for _, result := range report.Results {
		t.Run(result.ID, func(t *testing.T) {
			switch {
			case result.Failed():
				t.Errorf("%s %s (%s, %q)\n%s", result.Level, result.Title, result.Page, result.Section, result.explain())
			case result.Status != Pass:
				t.Skip(result.explain())
			}
		})
	}
	return report
}

// Test tests a provider. It returns an error if it could not begin, not if rules fail.
func Test(ctx context.Context, p Provider) (*Report, error) {
	p, err := p.complete()
	if err != nil {
		return nil, fmt.Errorf("read the provider: %w", err)
	}
	for id := range p.Exceptions {
		if !slices.Contains(ids(Rules()), id) {
			return nil, fmt.Errorf("%w: %s", errUnknownRule, id)
		}
	}
	report := &Report{Provider: p.Name, Started: time.Now()}
	config, ctx, stop, err := p.start(ctx)
	if err != nil {
		return nil, err
	}
	found := &results{all: map[string]Result{}}
	err = errors.Join(p.runScenarios(ctx, config, found), stop())
	if err != nil {
		return nil, err
	}
	for _, rule := range Rules() {
		result := found.get(rule.ID)
		result.Rule, result.Exception = rule, p.Exceptions[rule.ID]
		report.Results = append(report.Results, result)
	}
	report.Duration = time.Since(report.Started)
	return report, nil
}

// start starts what the provider needs, unless it is deployed.
func (p *Provider) start(ctx context.Context) (*rest.Config, context.Context, func() error, error) {
	read, err := manifests.Read(p.Manifests...)
	if err != nil {
		return nil, nil, nil, err
	}
	for _, object := range read.OfKind("ClusterRole") {
		role := rbacv1.ClusterRole{}
		if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &role); err != nil {
			return nil, nil, nil, fmt.Errorf("read ClusterRole %s: %w", object.GetName(), err)
		}
		p.roles = append(p.roles, role)
	}
	if p.Kubeconfig != "" {
		config, err := clientcmd.BuildConfigFromFlags("", p.Kubeconfig)
		if err != nil {
			return nil, nil, nil, fmt.Errorf("read kubeconfig: %w", err)
		}
		return config, ctx, func() error { return nil }, nil
	}
	started, ctx, err := environment.Start(ctx, environment.Options{
		Manifests: read, Command: p.Command, Environment: p.Environment, Run: p.Run,
	})
	if err != nil {
		return nil, nil, nil, err
	}
	return started.Config, ctx, started.Stop, nil
}

// scenarios run next to each other.
func scenarios() []scenario {
	return []scenario{definitions(), clusterLife(), externalCluster(), machineLife(), pauses(), moved(), templates(), poolLife()}
}

func (p Provider) runScenarios(ctx context.Context, config *rest.Config, found *results) error {
	scheme, err := core.NewScheme()
	if err != nil {
		return err
	}
	config = rest.CopyConfig(config)
	config.QPS = -1
	api, err := client.NewWithWatch(config, client.Options{Scheme: scheme})
	if err != nil {
		return fmt.Errorf("create client: %w", err)
	}
	if err := installBootstrap(ctx, config, api); err != nil {
		return err
	}
	var running sync.WaitGroup
	failed := make([]error, len(scenarios()))
	for i, s := range scenarios() {
		if reason := s.reason(p); reason != "" {
			for _, id := range s.rules {
				found.add(id, notApplicableError(reason), 0)
			}
			continue
		}
		running.Go(func() {
			w, err := newWorld(ctx, api, config, p, s.name)
			if err != nil {
				failed[i] = fmt.Errorf("begin %s: %w", s.name, err)
				return
			}
			started := time.Now()
			s.run(ctx, w, found)
			if p.progress != nil {
				p.progress("scenario %s ends after %s", s.name, time.Since(started).Round(time.Second))
			}
		})
	}
	running.Wait()
	return errors.Join(failed...)
}

func (s scenario) reason(p Provider) string {
	if s.inapplicable == nil {
		return ""
	}
	return s.inapplicable(p)
}

// installBootstrap installs the bootstrap provider's kind.
func installBootstrap(ctx context.Context, config *rest.Config, api client.Client) error {
	crd := bootstrapCRD()
	err := api.Get(ctx, client.ObjectKeyFromObject(crd), crd)
	if !apierrors.IsNotFound(err) {
		return err
	}
	return manifests.InstallCRDs(config, []*apiextensionsv1.CustomResourceDefinition{bootstrapCRD()})
}
