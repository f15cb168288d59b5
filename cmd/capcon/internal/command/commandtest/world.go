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

// Package commandtest runs commands of capcon in a world of their own: a simulated engine, a fake
// client of the management plane, and time that passes only when a command waits.
package commandtest

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/netip"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/templates"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// NodeImage, HAProxyImage and PlaneImage are on the engine of a new World, and MemoryPlaneImage is not.
const (
	NodeImage        = "localhost/capcon/node:v1.36.3"
	HAProxyImage     = "localhost/capcon/haproxy:2.6"
	PlaneImage       = "localhost/capcon/plane:dev"
	MemoryPlaneImage = "localhost/capcon/plane-memory:dev"
)

// World is everything outside of capcon. Each wait of a command lets the controllers act once.
type World struct {
	T      *testing.T
	Engine *simulated.Engine
	// Engines of other hosts, by the host; see AddEngine.
	Engines map[string]*simulated.Engine
	Plane   *Plane
	// Options of the plane that was requested last.
	Options plane.Options
	// Client of the management plane.
	Client client.WithWatch
	// Writes of commands to the management plane.
	Writes int
	// ReadErrors of commands from the management plane, by the type of the object; "" = all.
	ReadErrors map[string]error
	// UpdateErrors of the next updates by commands, one each.
	UpdateErrors []error
	// Workload is the API server of the cluster; nil = it is down.
	Workload client.WithWatch
	// StateHome has the state directory.
	StateHome string
	// Kubeconfig is the path of the user's.
	Kubeconfig string
	// ConnectError is the result of connecting to the engine.
	ConnectError error
	// PassedOver are the endpoints that were tried before the engine's.
	PassedOver []string
	// Environment of the commands, in addition to StateHome.
	Environment  map[string]string
	HostNetworks []input.UsedRange
	// UsedPorts of this host, as "tcp 0.0.0.0:80".
	UsedPorts []string
	// Terminal of the user; nil = there is none.
	Terminal io.Reader
	// Input that is no terminal.
	Input io.Reader
	// Controllers act on each wait.
	Controllers func()
	// Out gets what commands print on standard output while they run; nil = only the result of Run has it.
	Out io.Writer
	// RealTime passes by itself, as it must where something else than the command waits too.
	RealTime bool

	mu  sync.Mutex
	now time.Time
}

// New world without a management plane.
func New(t *testing.T) *World {
	t.Helper()
	scheme := must.Get(management.Scheme())(t)
	w := &World{
		T: t, Plane: &Plane{}, StateHome: t.TempDir(), Kubeconfig: filepath.Join(t.TempDir(), "config"), now: time.Unix(0, 0),
		Client:      fake.NewClientBuilder().WithScheme(scheme).Build(),
		Controllers: func() {},
	}
	w.UseEngine(simulated.New(simulated.WithClock(w.Now)))
	must.Succeed(t, plane.BeginMoves(t.Context(), w.Client)) // as the manager of a plane does
	w.Plane.Clusters = w.Clusters
	return w
}

// UseEngine from now on, with the images that capcon uses by default.
func (w *World) UseEngine(e *simulated.Engine) {
	addImages(e)
	w.Engine = e
}

func addImages(e *simulated.Engine) {
	e.AddImage(engine.Image{Tags: []string{NodeImage}}, map[string][]byte{
		"kind/version": []byte("v1.36.3"), "kind/manifests/default-cni.yaml": []byte(templates.Flannel),
	})
	e.AddImage(engine.Image{Tags: []string{HAProxyImage}}, nil)
	e.AddImage(engine.Image{Tags: []string{PlaneImage}}, nil)
}

// commandClient is the Client as commands see it.
func (w *World) commandClient() client.WithWatch {
	read := func(object any, read func() error) error {
		for _, kind := range []string{"", reflect.TypeOf(object).Elem().Name()} {
			if err := w.ReadErrors[kind]; err != nil {
				return err
			}
		}
		return read()
	}
	return interceptor.NewClient(w.Client, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			return read(object, func() error { return c.Get(ctx, key, object, options...) })
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			return read(list, func() error { return c.List(ctx, list, options...) })
		},
		Create: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.CreateOption) error {
			w.countWrite()
			return c.Create(ctx, o, options...)
		},
		Update: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.UpdateOption) error {
			w.countWrite()
			if len(w.UpdateErrors) > 0 {
				err := w.UpdateErrors[0]
				w.UpdateErrors = w.UpdateErrors[1:]
				return err
			}
			return c.Update(ctx, o, options...)
		},
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, patch client.Patch, options ...client.PatchOption) error {
			w.countWrite()
			return c.Patch(ctx, o, patch, options...)
		},
		Delete: func(ctx context.Context, c client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			w.countWrite()
			return c.Delete(ctx, o, options...)
		},
	})
}

// countWrite of a command, which may write to several clusters concurrently.
func (w *World) countWrite() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.Writes++
}

func (w *World) deps() session.Deps {
	return session.Deps{
		Program: "capcon",
		ConnectTo: func(context.Context, string) (engine.Engine, error) {
			return unclosed{w.Engine, w.PassedOver}, w.ConnectError
		},
		OpenEngine: w.openEngine,
		NewPlane: func(_ engine.Engine, options plane.Options) session.Plane {
			w.Options, w.Plane.inMemory = options, options.InMemory
			return w.Plane
		},
		NewClient: func(kubeconfig []byte) (client.WithWatch, error) {
			switch {
			case !strings.Contains(string(kubeconfig), "127.0.0.1:40123"):
				return w.commandClient(), nil
			case w.Workload == nil:
				return nil, errors.New("connection refused")
			}
			return w.Workload, nil
		},
		Getenv: func(key string) string {
			switch {
			case key == "XDG_STATE_HOME":
				return w.StateHome
			case key == "KUBECONFIG" && w.Environment[key] == "":
				return w.Kubeconfig
			}
			return w.Environment[key]
		},
		LookPath:     func(string) (string, error) { return "", exec.ErrNotFound },
		Systemd:      func(context.Context, string, ...string) string { return "" },
		HostNetworks: func() []input.UsedRange { return w.HostNetworks },
		PortInUse: func(_ context.Context, protocol string, address netip.AddrPort) bool {
			return slices.Contains(w.UsedPorts, protocol+" "+address.String())
		},
		Size:        func(io.Writer) (int, int) { return 0, 0 },
		Interactive: func() bool { return w.Terminal != nil },
		RawTerminal: func() (func(), error) { return func() {}, nil },
		Clock: session.Clock{Now: w.Now, After: func(d time.Duration) <-chan time.Time {
			w.Controllers()
			if w.RealTime {
				return time.NewTimer(d).C
			}
			w.Pass(d)
			passed := make(chan time.Time, 1)
			passed <- w.Now()
			return passed
		}},
	}
}

// unclosed keeps an engine usable for the next command.
type unclosed struct {
	*simulated.Engine
	passedOver []string
}

func (unclosed) Close() error { return nil }

func (u unclosed) Info(ctx context.Context) (engine.Info, error) {
	info, err := u.Engine.Info(ctx)
	info.PassedOver = u.passedOver
	return info, err //nolint:wrapcheck // It is the engine's.
}

// Now is the time.
func (w *World) Now() time.Time {
	if w.RealTime {
		return time.Now()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

// Pass lets time pass.
func (w *World) Pass(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// Directory of the engine's records.
func (w *World) Directory() state.Directory {
	return state.For(filepath.Join(w.StateHome, "capcon"), "simulated", "simulated")
}

// Record of the cluster demo.
func (w *World) Record() state.Cluster {
	w.T.Helper()
	record, _, err := w.Directory().Load("demo")
	must.Succeed(w.T, err)
	return record
}

// Run a command.
func (w *World) Run(args ...string) (code int, out, errs string) {
	return w.RunIn(w.T.Context(), args...)
}

// RunIn runs a command that ends with a context.
func (w *World) RunIn(ctx context.Context, args ...string) (code int, out, errs string) {
	var stdout, stderr strings.Builder
	// A wait for what never happens passes no time that others see: end it here.
	patience := 3 * time.Minute
	if w.RealTime {
		patience = time.Hour
	}
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	printed := io.Writer(&stdout)
	if w.Out != nil {
		printed = io.MultiWriter(&stdout, w.Out)
	}
	code = command.Run(ctx, args, session.Streams{In: cmp.Or(w.Terminal, w.Input), Out: printed, Err: &stderr}, w.deps())
	return code, stdout.String(), stderr.String()
}

// RunUntilItWaits interrupts a command as soon as it waits for controllers.
func (w *World) RunUntilItWaits(args ...string) (code int, out, errs string) {
	ctx, cancel := context.WithCancel(w.T.Context())
	defer cancel()
	controllers := w.Controllers
	defer func() { w.Controllers = controllers }()
	w.Controllers = cancel
	return w.RunIn(ctx, args...)
}

// MustRun a command that succeeds, and return what it prints.
func (w *World) MustRun(args ...string) string {
	w.T.Helper()
	return w.mustEnd(0, args)
}

// MustFail ends the test unless a command ends with exit code 1. It returns what it prints.
func (w *World) MustFail(args ...string) string {
	w.T.Helper()
	return w.mustEnd(1, args)
}

// MustNotYet ends the test unless a command ends with session.ExitNotYet. It returns what it prints.
func (w *World) MustNotYet(args ...string) string {
	w.T.Helper()
	return w.mustEnd(session.ExitNotYet, args)
}

func (w *World) mustEnd(want int, args []string) string {
	w.T.Helper()
	code, out, errs := w.Run(args...)
	if code != want {
		w.T.Fatalf("%s: exit code %d, want %d:\n%s%s", strings.Join(args, " "), code, want, out, errs)
	}
	return out + errs
}

// Contains reports each word that a text does not have. The gaps between columns of a table may differ.
func Contains(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if !strings.Contains(squeeze(text), squeeze(word)) {
			t.Errorf("Want %q in:\n%s", word, text)
		}
	}
}

// Lacks reports each word that a text has.
func Lacks(t *testing.T, text string, words ...string) {
	t.Helper()
	for _, word := range words {
		if strings.Contains(text, word) {
			t.Errorf("Unexpected %q in:\n%s", word, text)
		}
	}
}

// squeeze reduces the gaps between the columns of a table to two spaces.
func squeeze(text string) string {
	for strings.Contains(text, "   ") {
		text = strings.ReplaceAll(text, "   ", "  ")
	}
	return text
}
