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

package recipes

import (
	"context"
	"path"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/capi-samples/cluster-api-provider-container/images/builder/build"
	"github.com/capi-samples/cluster-api-provider-container/images/builder/debian"
)

// haproxyImage is Debian's haproxy laid out like the stock image: the path of
// the configuration, the user, the working directory and the entry point. It has the relay of UDP too.
func (s set) haproxyImage(ctx context.Context) (*build.Artifact, error) {
	relay, err := s.RepositoryProgram(ctx, "program-"+relayName, build.Program{Packages: []string{"./cmd/" + relayName}})
	if err != nil {
		return nil, err
	}
	debs := s.debs
	program := build.Layer(&build.Artifact{
		Name: "haproxy-relay", Needs: []*build.Artifact{relay}, Recipe: []string{"recipes/small.go"},
	}, func(_ context.Context, w *build.Workspace, t *build.Tree) error {
		t.Copy(w.Of(relay, relayName), "usr/local/bin/"+relayName, 0o755)
		return nil
	})
	layer := build.Layer(&build.Artifact{
		Name: "haproxy-root", Needs: []*build.Artifact{debs},
		Recipe: []string{"debian/packages.go", "debian/userland.go", "recipes/small.go"},
		Values: debian.HaproxyPackages(),
	}, func(ctx context.Context, w *build.Workspace, t *build.Tree) error {
		if err := debian.Unpack(ctx, w.Of(debs), debian.HaproxyPackages(), t); err != nil {
			return err
		}
		t.Mkdir("usr/local/etc/haproxy", 0o755)
		t.Mkdir("var/lib/haproxy", 0o755)
		t.Chown("var/lib/haproxy", 99, 99)
		t.Write("usr/local/bin/docker-entrypoint.sh", haproxyEntrypoint, 0o755)
		return debian.AddSystemFiles(ctx, w.Of(debs), t, "haproxy:x:99:99::/var/lib/haproxy:/usr/sbin/nologin\n")
	})
	return &build.Artifact{
		Name: "haproxy", Needs: []*build.Artifact{layer, program}, Recipe: []string{"recipes/small.go", "build/layer.go"},
		Values: []string{HaproxyReference},
		Build: func(_ context.Context, w *build.Workspace) error {
			return w.Platform.WriteImage(w.Dir, HaproxyReference, []build.ImageLayer{
				{File: w.Of(layer, build.LayerFile), Comment: "haproxy of Debian " + debian.Suite},
				{File: w.Of(program, build.LayerFile), Comment: relayName},
			}, v1.Config{
				Labels:     map[string]string{relayLabel: "true"},
				Env:        []string{defaultPath},
				Entrypoint: []string{"docker-entrypoint.sh"},
				Cmd:        []string{"haproxy", "-f", "/usr/local/etc/haproxy/haproxy.cfg"},
				User:       "haproxy", WorkingDir: "/var/lib/haproxy",
				// Connections in flight end in order; SIGTERM cuts them.
				StopSignal: "SIGUSR1",
			})
		},
	}, nil
}

const (
	relayName = "capcon-relay"
	// relayLabel says that the image has it.
	relayLabel = "container.infrastructure.cluster.x-k8s.io/udp-relay"
)

// haproxyEntrypoint runs haproxy in the foreground with a master process, which
// a reload by signal needs.
const haproxyEntrypoint = `#!/bin/sh
set -eu
if [ "${1#-}" != "$1" ]; then
  set -- haproxy "$@"
fi
if [ "$1" = haproxy ]; then
  shift
  set -- haproxy -W -db "$@"
fi
exec "$@"
`

// registryImage is a registry for the tests; paths as in the stock image.
func registryImage(c *components, static *build.Artifact) *build.Artifact {
	return programsImage{
		name: "registry", reference: registryReference, base: static,
		programs: map[string]*build.Artifact{"registry": c.registry},
		extra: func(_ context.Context, _ *build.Workspace, t *build.Tree) error {
			t.Write("etc/distribution/config.yml", registryConfig, 0o644)
			t.Mkdir("var/lib/registry", 0o755)
			return nil
		},
		config: v1.Config{
			Env: []string{
				defaultPath,
				"OTEL_TRACES_EXPORTER=none", // it would look for a collector
			},
			Entrypoint:   []string{"/usr/local/bin/registry"},
			Cmd:          []string{"serve", "/etc/distribution/config.yml"},
			Volumes:      map[string]struct{}{"/var/lib/registry": {}},
			ExposedPorts: map[string]struct{}{"5000/tcp": {}},
		},
	}.artifact()
}

const registryConfig = `version: 0.1
log:
  fields:
    service: registry
storage:
  filesystem:
    rootdirectory: /var/lib/registry
  delete:
    enabled: true
http:
  addr: :5000
  headers:
    X-Content-Type-Options: [nosniff]
health:
  storagedriver:
    enabled: true
    interval: 10s
    threshold: 3
`

// planeImage is etcd, the API server, the garbage collector's controller
// manager, and the program that runs them and the providers.
func (s set) planeImage(ctx context.Context, e edition) (programsImage, error) {
	program, err := s.RepositoryProgram(ctx, "capcon-plane"+e.suffix, build.Program{Packages: []string{"./cmd/capcon-plane"}, Ldflags: e.ldflags})
	if err != nil {
		return programsImage{}, err
	}
	return programsImage{
		name: planeName + e.suffix, reference: Prefix + planeName + ":" + e.tag, base: s.static,
		programs: map[string]*build.Artifact{
			"capcon-plane": program, "etcd": s.components.etcd, "kubernetes": s.components.plane,
		},
		extra: func(_ context.Context, _ *build.Workspace, t *build.Tree) error {
			for _, name := range []string{"kube-apiserver", "kube-controller-manager"} {
				t.Link("kubernetes", "usr/local/bin/"+name)
			}
			return nil
		},
		config: v1.Config{
			Env:        []string{"PATH=/usr/local/bin", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
			Entrypoint: []string{"/usr/local/bin/capcon-plane"},
		},
	}, nil
}

// planeMemoryImage is that of a plane, and above it the manager whose clusters are in memory: an engine that
// has the former gets one layer.
func (s set) planeMemoryImage(ctx context.Context, e edition, image programsImage) (*build.Artifact, error) {
	program, err := s.RepositoryProgram(ctx, "program-"+memoryManagerName+e.suffix, build.Program{
		Module: "e2e", Packages: []string{"./memory/" + memoryManagerName}, Ldflags: e.ldflags,
	})
	if err != nil {
		return nil, err
	}
	image.name, image.reference = planeMemoryName+e.suffix, Prefix+planeMemoryName+":"+e.tag
	image.above = []*build.Artifact{build.Layer(&build.Artifact{
		Name: memoryManagerName + e.suffix, Needs: []*build.Artifact{program}, Recipe: []string{"recipes/small.go"},
	}, func(_ context.Context, w *build.Workspace, t *build.Tree) error {
		t.Copy(w.Of(program, memoryManagerName), "usr/local/bin/"+memoryManagerName, 0o755)
		return nil
	})}
	return image.artifact(), nil
}

const memoryManagerName = "capcon-memory"

// metricsServer is a component, its image, and its program.
const metricsServer = "metrics-server"

// addMetricsServer adds the image of examples/metrics-server.yaml, under its public name.
func (s set) addMetricsServer() error {
	version, err := s.ModuleVersion(metricsServer, "sigs.k8s.io/metrics-server")
	if err != nil {
		return err
	}
	source, err := build.Program{
		Name: metricsServer, Packages: []string{"."}, Tags: kubernetesTags(),
		Ldflags: versionFlags("k8s.io/client-go/pkg/version", version),
	}.Artifact(s.Builder)
	if err != nil {
		return err
	}
	reference := path.Join("registry.k8s.io", metricsServer, metricsServer) + ":" + version
	s.images[metricsServer] = rootImage(metricsServer, reference, s.static, source, "/"+metricsServer)
	return nil
}
