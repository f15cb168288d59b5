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

package main

import (
	"context"
	"path"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// haproxyImage is Debian's haproxy laid out like the stock image: the path of
// the configuration, the user, the working directory and the entry point.
func haproxyImage(debs *artifact) *artifact {
	layer := layerArtifact(&artifact{
		name: "haproxy-root", needs: []*artifact{debs},
		recipe: []string{"packages.go", "userland.go", "small.go"},
		values: haproxyPackages(),
	}, func(ctx context.Context, w *workspace, t *tree) error {
		if err := unpack(ctx, w.of(debs), haproxyPackages(), t); err != nil {
			return err
		}
		t.mkdir("usr/local/etc/haproxy", 0o755)
		t.mkdir("var/lib/haproxy", 0o755)
		t.chown("var/lib/haproxy", 99, 99)
		t.write("usr/local/bin/docker-entrypoint.sh", haproxyEntrypoint, 0o755)
		return addSystemFiles(ctx, w.of(debs), t, "haproxy:x:99:99::/var/lib/haproxy:/usr/sbin/nologin\n")
	})
	return &artifact{
		name: "haproxy", needs: []*artifact{layer}, recipe: []string{"small.go", "layer.go"},
		values: []string{haproxyReference},
		build: func(_ context.Context, w *workspace) error {
			return w.platform.writeImage(w.dir, haproxyReference, []imageLayer{
				{w.of(layer, layerFile), "haproxy of Debian " + debianSuite},
			}, v1.Config{
				Env:        []string{defaultPath},
				Entrypoint: []string{"docker-entrypoint.sh"},
				Cmd:        []string{"haproxy", "-f", "/usr/local/etc/haproxy/haproxy.cfg"},
				User:       "haproxy", WorkingDir: "/var/lib/haproxy",
				// Connections in flight end in order; SIGTERM cuts them.
				StopSignal: "SIGUSR1",
			})
		},
	}
}

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
func registryImage(c *components, static *artifact) *artifact {
	return programsImage{
		name: "registry", reference: registryReference, base: static,
		programs: map[string]*artifact{"registry": c.registry},
		extra: func(_ context.Context, _ *workspace, t *tree) error {
			t.write("etc/distribution/config.yml", registryConfig, 0o644)
			t.mkdir("var/lib/registry", 0o755)
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
func (b *builder) planeImage(ctx context.Context, c *components, static *artifact, e edition) (*artifact, error) {
	program, err := b.repositoryProgram(ctx, "capcon-plane"+e.suffix, program{packages: []string{"./cmd/capcon-plane"}, ldflags: e.ldflags})
	if err != nil {
		return nil, err
	}
	return programsImage{
		name: "plane" + e.suffix, reference: prefix + "plane:" + e.tag, base: static,
		programs: map[string]*artifact{
			"capcon-plane": program, "etcd": c.etcd, "kubernetes": c.plane,
		},
		extra: func(_ context.Context, _ *workspace, t *tree) error {
			for _, name := range []string{"kube-apiserver", "kube-controller-manager"} {
				t.link("kubernetes", "usr/local/bin/"+name)
			}
			return nil
		},
		config: v1.Config{
			Env:        []string{"PATH=/usr/local/bin", "SSL_CERT_FILE=/etc/ssl/certs/ca-certificates.crt"},
			Entrypoint: []string{"/usr/local/bin/capcon-plane"},
		},
	}.artifact(), nil
}

// metricsServer is a component, its image, and its program.
const metricsServer = "metrics-server"

// addMetricsServer adds the image of examples/metrics-server.yaml, under its public name.
func (b *builder) addMetricsServer(images map[string]*artifact, static *artifact) error {
	version, err := b.moduleVersion(metricsServer, "sigs.k8s.io/metrics-server")
	if err != nil {
		return err
	}
	source, err := program{
		name: metricsServer, packages: []string{"."}, tags: kubernetesTags(),
		ldflags: versionFlags("k8s.io/client-go/pkg/version", version),
	}.artifact(b)
	if err != nil {
		return err
	}
	reference := path.Join("registry.k8s.io", metricsServer, metricsServer) + ":" + version
	images[metricsServer] = rootImage(metricsServer, reference, static, source, "/"+metricsServer)
	return nil
}
