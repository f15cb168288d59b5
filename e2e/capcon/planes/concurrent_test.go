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

package planes_test

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
)

const (
	// upSpread and downSpread are how far apart two commands begin at most: some
	// more than it takes to create a plane, and to delete the last cluster with it.
	upSpread, downSpread = 20 * time.Second, 15 * time.Second
	// commandPatience bounds one command on a busy machine.
	commandPatience = 8 * time.Minute
)

// concurrent are users of one engine who know nothing of each other.
type concurrent struct {
	*capcontest.Program
	engine engine.Engine
	plane  *plane.Plane
	random *rand.Rand
}

// TestConcurrentPlane runs commands of two users concurrently, at random offsets, and
// loses no cluster: two up where there is no management plane, the second of
// which fails late in every other run, and up alongside the down of the last
// cluster. RUNS (20) of each; SEED repeats the offsets.
func TestConcurrentPlane(t *testing.T) {
	eng := integration.Engine(t, capcontest.NodeImage, capcontest.LoadBalancerImage, capcontest.PlaneImage)
	seed := uint64(capcontest.Number(t, "SEED", int(time.Now().UnixNano()>>10)))
	runs := capcontest.Number(t, "RUNS", 20)
	t.Logf("SEED=%d RUNS=%d", seed, runs)
	c := &concurrent{
		Program: capcontest.Build(t, "concurrent"), engine: eng, plane: plane.New(eng, plane.Options{}),
		random: rand.New(rand.NewPCG(seed, 0)), //nolint:gosec // repeatable, and no secret
	}
	c.MustRun("down", "--all")
	before := capcontest.Ours(t, eng)
	t.Cleanup(func() {
		_, _ = c.Run(context.WithoutCancel(t.Context()), "down", "--all")
	})
	c.upDuringUp(runs, before)
	c.upDuringDown(runs)
	c.MustRun("down", "--all")
	if left := capcontest.Ours(t, eng); !slices.Equal(before, left) {
		t.Errorf("left on the engine: %q, before %q", left, before)
	}
}

// upDuringUp where there is no plane.
func (c *concurrent) upDuringUp(runs int, before []string) {
	c.T.Helper()
	for run := range runs {
		one, other := fmt.Sprintf("one-%d", run), fmt.Sprintf("other-%d", run)
		want := []string{one, other}
		second := func() { c.up(other) }
		if run%2 == 1 {
			want = want[:1]
			second = func() { c.upFails(other) }
		}
		c.together(upSpread, func() { c.up(one) }, second)
		c.mustHave(fmt.Sprintf("up during up, run %d", run), want...)
		c.MustRun("down", "--all")
		if left := capcontest.Ours(c.T, c.engine); !slices.Equal(before, left) {
			c.T.Fatalf("left on the engine: %q, before %q", left, before)
		}
	}
}

// upDuringDown of the last cluster.
func (c *concurrent) upDuringDown(runs int) {
	c.T.Helper()
	c.up("last-0")
	planes := map[string]bool{}
	for run := 1; run <= runs; run++ {
		last, next := fmt.Sprintf("last-%d", run-1), fmt.Sprintf("last-%d", run)
		c.together(downSpread, func() { c.up(next) }, func() { c.down(last) })
		planes[c.mustHave(fmt.Sprintf("up during down, run %d", run), next)] = true
	}
	c.T.Logf("up found the plane of the cluster before in %d of %d runs", runs-len(planes)+1, runs)
}

// together begins two commands at random offsets and waits for both.
func (c *concurrent) together(spread time.Duration, commands ...func()) {
	c.T.Helper()
	at := c.random.IntN(len(commands))
	offset := time.Duration(c.random.Int64N(int64(spread)))
	c.T.Logf("command %d begins %s after the other", at+1, offset.Round(time.Millisecond))
	var wait sync.WaitGroup
	for i, command := range commands {
		wait.Go(func() {
			if i == at {
				time.Sleep(offset)
			}
			command()
		})
	}
	wait.Wait()
	if c.T.Failed() {
		c.T.FailNow()
	}
}

// begin a command of a user of its own.
func (c *concurrent) begin(ctx context.Context, args ...string) (command *exec.Cmd, output *bytes.Buffer) {
	command = c.Command(ctx, append(args, "--engine", integration.EngineName())...)
	command.Env = append(os.Environ(), "XDG_STATE_HOME="+c.T.TempDir())
	output = &bytes.Buffer{}
	command.Stdout, command.Stderr = output, output
	if err := command.Start(); err != nil {
		c.T.Errorf("start capcon: %v", err)
	}
	return command, output
}

// up until its cluster is in a management plane, which then provisions it alone.
func (c *concurrent) up(name string) {
	ctx, cancel := context.WithTimeout(c.T.Context(), commandPatience)
	defer cancel()
	command, output := c.begin(ctx, "up", name, "--control-planes", "1", "--workers", "0")
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			c.T.Errorf("up %s ended before its cluster was seen: %v\n%s", name, err, output)
			return
		case <-ticker.C:
		}
		if _, names, err := c.clusters(ctx); err == nil && slices.Contains(names, name) {
			_ = command.Process.Signal(syscall.SIGINT)
			<-ended
			return
		}
	}
}

// upFails because its Pods' range holds the network, which is known late.
func (c *concurrent) upFails(name string) {
	ctx, cancel := context.WithTimeout(c.T.Context(), commandPatience)
	defer cancel()
	// What the engines choose from, without the range of Services.
	ranges := map[string]string{"docker": "128.0.0.0/1", "podman": "10.88.0.0/13"}
	command, output := c.begin(ctx, "up", name, "--workers", "0", "--pod-cidr", ranges[integration.EngineName()])
	if err := command.Wait(); err == nil || !bytes.Contains(output.Bytes(), []byte("overlaps")) {
		c.T.Errorf("up %s: want it refused, because its range overlaps; got %v\n%s", name, err, output)
	}
}

func (c *concurrent) down(name string) {
	ctx, cancel := context.WithTimeout(c.T.Context(), commandPatience)
	defer cancel()
	command, output := c.begin(ctx, "down", name)
	if err := command.Wait(); err != nil {
		c.T.Errorf("down %s: %v\n%s", name, err, output)
	}
	c.T.Logf("down %s:\n%s", name, output)
}

// mustHave these clusters and no others in a plane that answers; it returns which
// plane that is.
func (c *concurrent) mustHave(when string, want ...string) (id string) {
	c.T.Helper()
	id, names, err := c.clusters(c.T.Context())
	if err != nil {
		c.T.Fatalf("%s: %v", when, err)
	}
	slices.Sort(want)
	if slices.Sort(names); !slices.Equal(want, names) {
		c.T.Fatalf("%s: clusters %q, want %q", when, names, want)
	}
	return id
}

// clusters of the management plane that answers, and its ID.
func (c *concurrent) clusters(ctx context.Context) (id string, names []string, err error) {
	state, err := c.plane.State(ctx)
	if err != nil {
		return "", nil, err
	}
	api, err := capcontest.ConnectPlane(c.T.Output(), state.Kubeconfig)
	if err != nil {
		return "", nil, fmt.Errorf("%s: %w", state.Detail, err)
	}
	list := &clusterv1.ClusterList{}
	if err := api.List(ctx, list); err != nil {
		return "", nil, err
	}
	for _, cluster := range list.Items {
		if cluster.DeletionTimestamp.IsZero() {
			names = append(names, cluster.Name)
		}
	}
	return state.ID, names, nil
}
