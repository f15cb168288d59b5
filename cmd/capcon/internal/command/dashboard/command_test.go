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

package dashboard_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/commandtest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// patience is more than a busy machine needs.
const patience = time.Minute

// dashboard runs the command until the test ends, and returns the states that it pushes.
func dashboard(t *testing.T, s *stage, args ...string) *bufio.Scanner {
	t.Helper()
	printed, out := io.Pipe()
	s.Out = out
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if code, _, errs := s.RunIn(ctx, append([]string{"dashboard"}, args...)...); code != 0 {
			t.Errorf("exit code %d: %s", code, errs)
		}
		out.CloseWithError(errors.New("the command ended"))
	}()
	t.Cleanup(func() {
		cancel()
		<-done
	})
	line := must.Get(bufio.NewReader(printed).ReadString('\n'))(t)
	go io.Copy(io.Discard, printed) //nolint:errcheck // The rest is not read.
	url, token, _ := strings.Cut(regexp.MustCompile(`http://127\.0\.0\.1:\d+/#\w+`).FindString(line), "#")
	request := must.Get(http.NewRequestWithContext(ctx, http.MethodGet, url+"events", http.NoBody))(t)
	request.Header.Set("Authorization", "Bearer "+token)
	response := must.Get(http.DefaultClient.Do(request))(t) //nolint:bodyclose // It is closed when the test ends.
	t.Cleanup(func() { response.Body.Close() })
	lines := bufio.NewScanner(response.Body)
	lines.Buffer(nil, 1<<20)
	return lines
}

// until the page gets a state with all words.
func until(t *testing.T, states *bufio.Scanner, words ...string) string {
	t.Helper()
	late := time.AfterFunc(patience, func() { panic(fmt.Sprintf("no state with %q within %s", words, patience)) })
	defer late.Stop()
	for states.Scan() {
		missing := false
		for _, word := range words {
			missing = missing || !strings.Contains(states.Text(), word)
		}
		if !missing {
			return states.Text()
		}
	}
	t.Fatalf("no state with %q: %v", words, states.Err())
	return ""
}

func TestDashboard(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	states := dashboard(t, s)
	until(t, states, `"clusters":[]`)
	s.create()
	state := until(t, states, `"state":"starting`, `"Status":"DOWN"`, `"etcd"`)
	commandtest.Contains(t, state, `"title":"MachineInfrastructure - ContainerMachine/`+first, `"problems":["BootstrapCompleted"]`, "the bootstrap runs in container")
	commandtest.Lacks(t, state, "swordfish42")
	s.ready()
	until(t, states, `"state":"available"`, `"Status":"UP"`, `"node":"`+worker, `"name":"addons"`)
	s.fail()
	until(t, states, `"status":"exited"`, `"reason":"ContainerCrashLoop"`, `"remedy":"see why it exits with capcon logs`)
	s.unreachable(errors.New("connection refused"))
	commandtest.Contains(t, until(t, states, `"error":{"message":`, "connection refused", `"since":`), `"ContainerCrashLoop"`)
	s.unreachable(nil)
	s.deleting()
	commandtest.Lacks(t, until(t, states, `"state":"deleting"`), `"error"`, worker+`","controlPlane"`)
	s.deleted()
	until(t, states, `"clusters":[]`)
	if s.Writes > 0 {
		t.Errorf("%d writes", s.Writes)
	}
}

// Without an engine, the objects of any management cluster are shown.
func TestDashboardOfKubeconfig(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.create()
	s.ConnectError = errors.New("no engine responds")
	file := filepath.Join(t.TempDir(), "other.kubeconfig")
	must.Succeed(t, os.WriteFile(file, []byte("other"), 0o600))
	state := until(t, dashboard(t, s, "--kubeconfig", file), `"state":"starting`)
	commandtest.Contains(t, state, "management cluster of other.kubeconfig", "none: no engine responds", `"balancers":[]`, "ContainerMachine/"+first)
	if saved := s.Directory().ManagementKubeconfig(); saved != nil {
		t.Errorf("the kubeconfig of the management plane became %q", saved)
	}
}

// TestDashboardOnEngine: what is on the engine of another host is shown, and otherwise which engine is not reached.
func TestDashboardOnEngine(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	build := s.AddEngine("build")
	build.HandleExec(s.exec)
	s.create()
	owner := identity.Owner{Namespace: "default", Cluster: "demo", ID: "owner"}
	for name, role := range map[string]identity.Role{balancer: identity.RoleLoadBalancer, first: identity.RoleControlPlane} {
		must.Succeed(t, s.Engine.RemoveContainer(t.Context(), name))
		s.AddContainerOn(build, name, owner, role)
	}
	commandtest.Update(s.World, "demo", &infrav1.ContainerCluster{}, func(o *infrav1.ContainerCluster) { o.Spec.EngineName = "build" })
	states := dashboard(t, s)
	until(t, states, `"engineName":"build"`, `"container":"`+first+`","status":"running"`, `"Status":"DOWN"`, `"etcd"`)
	s.orders <- func() { s.BreakEngine("build", "connection refused") }
	connected := slices.DeleteFunc(build.Journal(), func(call simulated.Call) bool { return call.Method != "Info" })
	if len(connected) != 1 {
		t.Errorf("connected %d times", len(connected))
	}
	state := until(t, states, `"object":"ContainerEngine build"`, "connection refused", "capcon engine list")
	commandtest.Contains(t, state, `"balancers":[]`, "ContainerMachine/"+first)
	commandtest.Lacks(t, state, `"error":{`)
}

func TestDashboardWithoutPlane(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.Plane.Current.Answers, s.Plane.Current.Exists = false, false
	until(t, dashboard(t, s), `"notice":"No clusters: create one with \"capcon up NAME\"."`)
}

func TestDashboardRefuses(t *testing.T) {
	t.Parallel()
	w := commandtest.New(t)
	commandtest.Contains(t, w.MustFail("dashboard", "--port", "70000"), "--port", "70000")
	commandtest.Contains(t, w.MustFail("dashboard", "--kubeconfig", filepath.Join(t.TempDir(), "absent")), "read kubeconfig")
	w.Engine.Down()
	commandtest.Contains(t, w.MustFail("dashboard"), "get engine info")
}

// TestStage is the dashboard that e2e/dashboard opens in a browser: it reads the steps from standard input.
func TestStage(t *testing.T) {
	if os.Getenv("DASHBOARD_STAGE") == "" {
		t.Skip("a part of make e2e RUN=dashboard")
	}
	s := newStage(t)
	s.Out = os.Stdout
	ctx, cancel := context.WithCancel(t.Context())
	go func() {
		defer cancel()
		steps := map[string]func(){
			"create": s.create, "ready": s.ready, "fail": s.fail, "deleting": s.deleting, "deleted": s.deleted,
			"lose": func() { s.unreachable(errors.New("dial tcp 127.0.0.1:40111: connect: connection refused")) }, "find": func() { s.unreachable(nil) },
		}
		for orders := bufio.NewScanner(os.Stdin); orders.Scan(); {
			steps[orders.Text()]()
		}
	}()
	if code, _, errs := s.RunIn(ctx, "dashboard"); code != 0 {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
