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

package capcon_test

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
	*capcon
	engine engine.Engine
	plane  *plane.Plane
	random *rand.Rand
}

// TestConcurrentPlane runs commands of two users concurrently, at random offsets, and
// loses no cluster: two up where there is no management plane, the second of
// which fails late in every other run, and up alongside the down of the last
// cluster. RUNS (20) of each; SEED repeats the offsets.
func TestConcurrentPlane(t *testing.T) {
	eng := integration.Engine(t, nodeImage, loadBalancerImage, planeImage)
	seed := uint64(number(t, "SEED", int(time.Now().UnixNano()>>10)))
	runs := number(t, "RUNS", 20)
	t.Logf("SEED=%d RUNS=%d", seed, runs)
	c := &concurrent{
		capcon: build(t, "concurrent"), engine: eng, plane: plane.New(eng, plane.Options{}),
		random: rand.New(rand.NewPCG(seed, 0)), //nolint:gosec // repeatable, and no secret
	}
	c.mustRun("down", "--all")
	before := ours(t, eng)
	t.Cleanup(func() {
		_, _ = c.run(context.WithoutCancel(t.Context()), "down", "--all")
	})
	c.upDuringUp(runs, before)
	c.upDuringDown(runs)
	c.mustRun("down", "--all")
	if left := ours(t, eng); !slices.Equal(before, left) {
		t.Errorf("left on the engine: %q, before %q", left, before)
	}
}

// upDuringUp where there is no plane.
func (c *concurrent) upDuringUp(runs int, before []string) {
	c.t.Helper()
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
		c.mustRun("down", "--all")
		if left := ours(c.t, c.engine); !slices.Equal(before, left) {
			c.t.Fatalf("left on the engine: %q, before %q", left, before)
		}
	}
}

// upDuringDown of the last cluster.
func (c *concurrent) upDuringDown(runs int) {
	c.t.Helper()
	c.up("last-0")
	planes := map[string]bool{}
	for run := 1; run <= runs; run++ {
		last, next := fmt.Sprintf("last-%d", run-1), fmt.Sprintf("last-%d", run)
		c.together(downSpread, func() { c.up(next) }, func() { c.down(last) })
		planes[c.mustHave(fmt.Sprintf("up during down, run %d", run), next)] = true
	}
	c.t.Logf("up found the plane of the cluster before in %d of %d runs", runs-len(planes)+1, runs)
}

// together begins two commands at random offsets and waits for both.
func (c *concurrent) together(spread time.Duration, commands ...func()) {
	c.t.Helper()
	at := c.random.IntN(len(commands))
	offset := time.Duration(c.random.Int64N(int64(spread)))
	c.t.Logf("command %d begins %s after the other", at+1, offset.Round(time.Millisecond))
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
	if c.t.Failed() {
		c.t.FailNow()
	}
}

// begin a command of a user of its own.
func (c *concurrent) begin(ctx context.Context, args ...string) (command *exec.Cmd, output *bytes.Buffer) {
	command = c.command(ctx, append(args, "--engine", integration.EngineName())...)
	command.Env = append(os.Environ(), "XDG_STATE_HOME="+c.t.TempDir())
	output = &bytes.Buffer{}
	command.Stdout, command.Stderr = output, output
	if err := command.Start(); err != nil {
		c.t.Errorf("start capcon: %v", err)
	}
	return command, output
}

// up until its cluster is in a management plane, which then provisions it alone.
func (c *concurrent) up(name string) {
	ctx, cancel := context.WithTimeout(c.t.Context(), commandPatience)
	defer cancel()
	command, output := c.begin(ctx, "up", name, "--control-planes", "1", "--workers", "0")
	ended := make(chan error, 1)
	go func() { ended <- command.Wait() }()
	ticker := time.NewTicker(500 * time.Millisecond)
	defer ticker.Stop()
	for {
		select {
		case err := <-ended:
			c.t.Errorf("up %s ended before its cluster was seen: %v\n%s", name, err, output)
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
	ctx, cancel := context.WithTimeout(c.t.Context(), commandPatience)
	defer cancel()
	// What the engines choose from, without the range of Services.
	ranges := map[string]string{"docker": "128.0.0.0/1", "podman": "10.88.0.0/13"}
	command, output := c.begin(ctx, "up", name, "--workers", "0", "--pod-cidr", ranges[integration.EngineName()])
	if err := command.Wait(); err == nil || !bytes.Contains(output.Bytes(), []byte("overlaps")) {
		c.t.Errorf("up %s: want it refused, because its range overlaps; got %v\n%s", name, err, output)
	}
}

func (c *concurrent) down(name string) {
	ctx, cancel := context.WithTimeout(c.t.Context(), commandPatience)
	defer cancel()
	command, output := c.begin(ctx, "down", name)
	if err := command.Wait(); err != nil {
		c.t.Errorf("down %s: %v\n%s", name, err, output)
	}
	c.t.Logf("down %s:\n%s", name, output)
}

// mustHave these clusters and no others in a plane that answers; it returns which
// plane that is.
func (c *concurrent) mustHave(when string, want ...string) (id string) {
	c.t.Helper()
	id, names, err := c.clusters(c.t.Context())
	if err != nil {
		c.t.Fatalf("%s: %v", when, err)
	}
	slices.Sort(want)
	if slices.Sort(names); !slices.Equal(want, names) {
		c.t.Fatalf("%s: clusters %q, want %q", when, names, want)
	}
	return id
}

// clusters of the management plane that answers, and its ID.
func (c *concurrent) clusters(ctx context.Context) (id string, names []string, err error) {
	state, err := c.plane.State(ctx)
	if err != nil {
		return "", nil, err
	}
	api, err := connectPlane(c.t.Output(), state.Kubeconfig)
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
