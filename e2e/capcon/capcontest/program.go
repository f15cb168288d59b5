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

// Package capcontest has what the suites of capcon on real engines share: the program under
// test, clusters declared object by object, workloads in them, clients of these, and hosts with
// engines. It has no suites.
package capcontest

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// Root of the repository, seen from the packages of the suites.
const Root = "../../.."

// Program is the program under test.
type Program struct {
	T    *testing.T
	Path string
	// Cluster that the test is about.
	Cluster string
	// Attributes of its processes, nil for those of the test's.
	Attributes *syscall.SysProcAttr
}

// Build makes the program as the Makefile does.
func Build(t *testing.T, cluster string) *Program {
	t.Helper()
	path := filepath.Join(t.TempDir(), "capcon")
	command := exec.CommandContext(t.Context(), "go", "build", "-o", path, "./cmd/capcon")
	command.Dir = Root // the module of capcon, whose dependencies it is built with
	if output, err := command.CombinedOutput(); err != nil {
		t.Fatalf("build capcon: %v\n%s", err, output)
	}
	return &Program{T: t, Path: path, Cluster: cluster}
}

// MustOutput is MustRun for what is too long for the test's log.
func (c *Program) MustOutput(args ...string) string {
	c.T.Helper()
	output, err := c.Command(c.T.Context(), args...).Output()
	if err != nil {
		c.T.Fatalf("capcon %s: %v", strings.Join(args, " "), err)
	}
	return string(output)
}

// DownBeforeAndAfter deletes the cluster that an earlier test left, and again when this
// test ends; not where it failed and KEEP is set.
func (c *Program) DownBeforeAndAfter() {
	c.T.Helper()
	// With --force, the record of a cluster whose engine and plane are gone goes too.
	c.MustRun("down", c.Cluster, "--force")
	c.T.Cleanup(func() {
		if !c.T.Failed() || os.Getenv("KEEP") == "" {
			_, _ = c.Run(context.WithoutCancel(c.T.Context()), "down", c.Cluster)
		}
	})
}

// Run runs a command and returns what it prints to standard output; its
// progress goes to the test's log.
func (c *Program) Run(ctx context.Context, args ...string) (string, error) {
	c.T.Helper()
	command := c.Command(ctx, args...)
	var stdout, stderr bytes.Buffer
	command.Stdout, command.Stderr = &stdout, &stderr
	start := time.Now()
	err := command.Run()
	c.T.Logf("capcon %s (%.1fs)\n%s%s", strings.Join(args, " "), time.Since(start).Seconds(), stderr.String(), stdout.String())
	if err != nil {
		return stdout.String(), fmt.Errorf("capcon %s: %w", strings.Join(args, " "), err)
	}
	return stdout.String(), nil
}

// MustShow runs a command and returns its progress too.
func (c *Program) MustShow(args ...string) string {
	c.T.Helper()
	output, err := c.Command(c.T.Context(), args...).CombinedOutput()
	if err != nil {
		c.T.Fatalf("capcon %s: %v\n%s", strings.Join(args, " "), err, output)
	}
	return string(output)
}

// withFamilies are the arguments with the IP families that IP_FAMILY in the environment has for clusters that "up"
// creates, unless the test or a file decides them.
func withFamilies(args []string) []string {
	family := os.Getenv("IP_FAMILY")
	decided := slices.ContainsFunc(args, func(arg string) bool { return slices.Contains([]string{"-f", "--ip-family", "--pod-cidr"}, arg) })
	if family == "" || len(args) == 0 || args[0] != "up" || decided {
		return args
	}
	return append(slices.Clone(args), "--ip-family", family)
}

// Command on the engine of the tests has a state and a kubeconfig of its own for each engine: the tests of two engines run at
// the same time with clusters of the same names, and one that is recorded on another engine is
// unknown.
func (c *Program) Command(ctx context.Context, args ...string) *exec.Cmd {
	c.T.Helper()
	command := exec.CommandContext(ctx, c.Path, append([]string{"--engine", integration.EngineName()}, withFamilies(args)...)...)
	kubeconfig := UserKubeconfig(c.T)
	command.Env = append(os.Environ(), "XDG_STATE_HOME="+filepath.Dir(kubeconfig), "KUBECONFIG="+kubeconfig)
	command.SysProcAttr = c.Attributes
	return command
}

// UserKubeconfig is the path of the kubeconfig of the user who runs the program.
func UserKubeconfig(t *testing.T) string {
	t.Helper()
	return filepath.Join(must.Get(os.UserHomeDir())(t), ".local", "state", "capcon-test", integration.EngineName(), "kubeconfig")
}

// MustRun is Run, and ends the test where it fails.
func (c *Program) MustRun(args ...string) string {
	c.T.Helper()
	output := must.Get(c.Run(c.T.Context(), args...))(c.T)
	return output
}

// Kubeconfig is what the program prints for these arguments.
func (c *Program) Kubeconfig(args ...string) []byte {
	c.T.Helper()
	kubeconfig := must.Get(c.getKubeconfig(c.T.Context(), args...))(c.T)
	return kubeconfig
}

// getKubeconfig is Kubeconfig for callers that retry.
func (c *Program) getKubeconfig(ctx context.Context, args ...string) ([]byte, error) {
	args = append([]string{"kubeconfig"}, args...)
	kubeconfig, err := c.Command(ctx, args...).Output()
	if err != nil {
		return nil, fmt.Errorf("get kubeconfig: %w", err)
	}
	return kubeconfig, nil
}

// ConnectCluster returns a client made of the kubeconfig that the program
// prints for users.
func (c *Program) ConnectCluster() kubernetes.Interface {
	c.T.Helper()
	config, err := clientcmd.RESTConfigFromKubeConfig(c.Kubeconfig(c.Cluster))
	must.Succeed(c.T, err)
	client := must.Get(kubernetes.NewForConfig(config))(c.T)
	return client
}

// At returns the program logging to a sub-test.
func (c *Program) At(t *testing.T) *Program {
	other := *c
	other.T = t
	return &other
}

// About returns the program for another cluster.
func (c *Program) About(cluster string) *Program {
	other := *c
	other.Cluster = cluster
	return &other
}
