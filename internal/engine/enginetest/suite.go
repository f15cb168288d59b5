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

package enginetest

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// Harness is what the suite needs to know of an engine and cannot ask it.
type Harness struct {
	// Connect returns a connection to the engine. Each stands for a process.
	Connect func(t *testing.T) engine.Engine
	// Processes: the engine runs real ones, on this host.
	Processes bool
	// RestartEngine stops and starts the engine; nil leaves its cases out.
	RestartEngine func(t *testing.T)
	// RunsOn: containers run on while the engine is stopped.
	RunsOn bool
	// Interrupt breaks the connections of the engine returned by Connect, so
	// they are opened again.
	Interrupt func(t *testing.T)
	// Outage keeps the engine returned by Connect from being reached until it is
	// ended.
	Outage func(t *testing.T) (end func())
	// Requests is how many HTTP requests the engine returned by Connect has
	// sent so far. Only engines that run real processes have it.
	Requests func() int64
	// OccupyPort lets a process of the engine's host listen on a TCP port of
	// 127.0.0.1 until the test ends.
	OccupyPort func(t *testing.T) uint16
	// FreePort returns a TCP port of the engine's host that is not in use.
	FreePort func(t *testing.T) uint16
	// HostDirectory returns a path of the engine's host with one file in it.
	HostDirectory func(t *testing.T, file, content string) string
	// MissingHostPath returns a path that the engine's host does not have.
	MissingHostPath func(t *testing.T) string
	// CDIDevice describes a CDI device to the engine, that is /dev/nothing in a
	// container and keeps nothing, and returns its name; nil where that cannot be done.
	CDIDevice func(t *testing.T) string
	// VolumesOf names the volumes that a container has, anonymous included.
	VolumesOf func(t *testing.T, container string) []string
	// UnreachableImage names an image whose registry cannot be reached.
	UnreachableImage func(t *testing.T) string
	// RemoveImage removes a local image, if it is there; nil leaves what the
	// suite pulls and loads behind.
	RemoveImage func(t *testing.T, reference string)
	// ForgetsStartErrors: the engine does not keep why a container did not start.
	ForgetsStartErrors bool
	// MissesOOM: the engine may not notice that a process was killed because its
	// memory was exhausted.
	MissesOOM bool
}

// missing names the functions that every engine needs and the harness lacks: a case that called one of them
// would end the process, and hide what the others found.
func (h Harness) missing() []string {
	var missing []string
	for _, function := range []struct {
		name  string
		isNil bool
	}{
		{"Connect", h.Connect == nil}, {"Interrupt", h.Interrupt == nil}, {"Outage", h.Outage == nil},
		{"OccupyPort", h.OccupyPort == nil}, {"FreePort", h.FreePort == nil}, {"HostDirectory", h.HostDirectory == nil},
		{"MissingHostPath", h.MissingHostPath == nil}, {"VolumesOf", h.VolumesOf == nil}, {"UnreachableImage", h.UnreachableImage == nil},
		{"Requests", h.Requests == nil && h.Processes},
	} {
		if function.isNil {
			missing = append(missing, function.name)
		}
	}
	return missing
}

// checks are the cases of the suite by their titles. The comment at each is the sentence of
// the contract that it proves.
type checks map[string]func(t *testing.T, c *fixture)

// group of checks with the same needs.
type group struct {
	checks checks
	// processes, restart: what the cases need of the harness.
	processes, restart bool
	// alone: the cases disturb others that run at the same time.
	alone bool
}

func groups() map[string]group {
	return map[string]group{
		"containers": {checks: containerChecks()}, "lifecycle": {checks: lifecycleChecks()},
		"ports": {checks: portChecks()}, "addresses": {checks: addressChecks()},
		"archives": {checks: archiveChecks()}, "exec": {checks: execChecks()},
		"networks": {checks: networkChecks()}, "attachments": {checks: attachmentChecks()},
		"volumes": {checks: volumeChecks()}, "images": {checks: imageChecks()}, "events": {checks: eventChecks()},
		"connections": {checks: connectionChecks(), alone: true},
		"processes":   {checks: processChecks(), processes: true},
		"registries":  {checks: registryChecks(), processes: true},
		"restart":     {checks: restartChecks(), restart: true, alone: true},
	}
}

// fixture is what a case works with.
type fixture struct {
	engine.Engine
	Harness

	// name is unique to the case; everything it makes begins with it.
	name   string
	image  v1.Image
	podman bool
}

// Conformance proves that an engine keeps the contract of package engine.
func Conformance(t *testing.T, harness Harness) {
	t.Helper()
	runChecks(t, harness, groups())
}

// RestartConformance proves only what is about a restart of the engine, for an
// engine that is better not shared with the rest.
func RestartConformance(t *testing.T, harness Harness) {
	t.Helper()
	runChecks(t, harness, map[string]group{"restart": groups()["restart"]})
}

func runChecks(t *testing.T, harness Harness, groups map[string]group) {
	t.Helper()
	if missing := harness.missing(); len(missing) > 0 {
		t.Fatalf("the harness has no %s; LocalHarness has all but VolumesOf", strings.Join(missing, ", no "))
	}
	connection := harness.Connect(t)
	info, err := connection.Info(t.Context())
	succeed(t, "the engine under test", err)
	for _, again := range []engine.Engine{connection, harness.Connect(t)} {
		found, err := again.Info(t.Context())
		if err != nil || info.ID == "" || found.ID != info.ID || info.StorageID == "" || found.StorageID != info.StorageID {
			t.Fatalf("every connection to the engine under test has to see one ID of it and of its storage, got %q, %q and %q, %q: %v",
				info.ID, info.StorageID, found.ID, found.StorageID, err)
		}
	}
	t.Logf("engine %s %s, API %s, at %s", info.Name, info.Version, info.APIVersion, info.Endpoint)
	img := BuildImage(t, info.Architecture)
	load(t, connection, harness, img)

	run := strings.ToLower(rand.Text()[:6])
	for name, group := range groups {
		for title, check := range group.checks {
			t.Run(name+"/"+title, func(t *testing.T) {
				switch {
				case group.processes && !harness.Processes:
					t.Skip("this engine runs no processes")
				case group.restart && harness.RestartEngine == nil:
					t.Skip("this harness cannot restart the engine")
				}
				if !group.alone {
					t.Parallel()
				}
				check(t, &fixture{
					Engine: connection, Harness: harness, image: img, podman: info.Name == "podman",
					name: "enginetest-" + run + "-" + strings.ToLower(rand.Text()[:8]),
				})
			})
		}
	}
}

// load loads the suite's image and removes the one that an older suite left
// under its name.
func load(t *testing.T, connection engine.Images, harness Harness, img v1.Image) {
	t.Helper()
	old, err := connection.InspectImage(t.Context(), imageName)
	if err != nil && !errors.Is(err, engine.ErrNotFound) {
		t.Fatalf("look for the test image: %v", err)
	}
	succeed(t, "load the test image", connection.LoadImage(t.Context(), bytes.NewReader(saved(t, img))))
	loaded, err := connection.InspectImage(t.Context(), imageName)
	succeed(t, "look for the test image", err)
	if old.ID != "" && old.ID != loaded.ID && harness.RemoveImage != nil {
		harness.RemoveImage(t, old.ID)
	}
}

// spec is a container's that runs the image's init.
func (c *fixture) spec(suffix string) engine.Spec {
	return engine.Spec{
		Name: c.named(suffix), Image: imageName, Labels: map[string]string{"enginetest": c.name},
	}
}

func (c *fixture) named(suffix string) string { return c.name + "-" + suffix }

// own selects what the case has made.
func (c *fixture) own() map[string]string { return map[string]string{"enginetest": c.name} }

// subnet returns this engine's variant of a subnet of 198.18.0.0/16 (for
// benchmarks, RFC 2544, so no host uses it) or of fd13:7a3c::/48 (unique local).
// Each case names its own, because cases are parallel. The suites of Docker and
// Podman may run on one host at the same time, and either engine refuses a subnet
// that the other uses: Podman's are 198.19.0.0/16 and fd13:7a3d::/48.
func (c *fixture) subnet(text string) netip.Prefix {
	if c.podman {
		text = strings.NewReplacer("198.18.", "198.19.", "fd13:7a3c:", "fd13:7a3d:").Replace(text)
	}
	return netip.MustParsePrefix(text)
}

// forget removes what the test may have made when it ends. Its own context has ended then.
func forget(t *testing.T, remove func(context.Context, string) error, name string) {
	t.Helper()
	t.Cleanup(func() { wantNoError(t, "tidy up", remove(context.WithoutCancel(t.Context()), name)) })
}

func (c *fixture) create(t *testing.T, spec engine.Spec) string {
	t.Helper()
	forget(t, c.RemoveContainer, spec.Name)
	id, err := c.CreateContainer(t.Context(), spec)
	succeed(t, "create", err)
	return id
}

func (c *fixture) start(t *testing.T, name string) {
	t.Helper()
	succeed(t, "start", c.StartContainer(t.Context(), name))
}

func (c *fixture) run(t *testing.T, spec engine.Spec) string {
	t.Helper()
	id := c.create(t, spec)
	c.start(t, spec.Name)
	return id
}

func (c *fixture) stop(t *testing.T, name string) {
	t.Helper()
	succeed(t, "stop", c.StopContainer(t.Context(), name, 10*time.Second))
}

func (c *fixture) remove(t *testing.T, name string) {
	t.Helper()
	wantNoError(t, "remove", c.RemoveContainer(t.Context(), name))
}

func (c *fixture) inspect(t *testing.T, name string) engine.Container {
	t.Helper()
	found, err := c.InspectContainer(t.Context(), name)
	succeed(t, "inspect", err)
	return found
}

// network creates one with a subnet that the engine chooses, unless one is given.
func (c *fixture) network(t *testing.T, suffix string, subnets ...netip.Prefix) engine.Network {
	t.Helper()
	forget(t, c.RemoveNetwork, c.named(suffix))
	created, err := c.CreateNetwork(t.Context(), engine.NetworkSpec{Name: c.named(suffix), Labels: c.own(), Subnets: subnets})
	succeed(t, "create network", err)
	return created
}

// tool is a command of the image's program.
func tool(args ...string) engine.Command {
	return engine.Command{Args: append([]string{"/tool"}, args...)}
}

// tool runs such a command and returns its output.
func (c *fixture) tool(t *testing.T, container string, args ...string) string {
	t.Helper()
	output, err := c.Exec(t.Context(), container, tool(args...))
	if err != nil {
		t.Fatalf("run %v: %v, stderr %q", args, err, output.Stderr)
	}
	return string(output.Stdout)
}

func (c *fixture) upload(t *testing.T, container string, files ...tarFile) {
	t.Helper()
	succeed(t, "upload", c.Upload(t.Context(), container, bytes.NewReader(makeTar(t, files...))))
}

func (c *fixture) download(t *testing.T, container, path string) map[string]tarFile {
	t.Helper()
	stream, err := c.Download(t.Context(), container, path)
	succeed(t, "download", err)
	return untar(t, stream)
}
