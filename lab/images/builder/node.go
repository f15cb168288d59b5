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
	"errors"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"
)

// nodePackages are those of kind's Dockerfile, without the ones that
// differences.go names.
func nodePackages() []string {
	return []string{
		"systemd",
		"conntrack", "iptables", "nftables", "iproute2", "ethtool", "util-linux", "mount", "kmod",
		"libseccomp2", "pigz",
		"e2fsprogs",
		"bash", "ca-certificates", "curl", "jq", "procps",
	}
}

// nodeRootLayer is Debian with systemd as PID 1 and without D-Bus: with it
// installed and PID 1 not on the bus, the kubelet waits for it forever.
func nodeRootLayer(debs *artifact) *artifact {
	a := &artifact{
		name: "node-root", needs: []*artifact{debs},
		recipe: []string{"debian.go", "security.go", "node.go", "kind.go", "userland.go"},
		values: nodePackages(),
	}
	return layerArtifact(a, func(ctx context.Context, w *workspace, t *tree) error {
		if err := w.prepareHost(ctx); err != nil {
			return err
		}
		mirror, err := findMirror(os.DirFS(sourcesDirectory), debianSuite)
		if err != nil {
			return err
		}
		w.say("installing Debian %s", debianSuite)
		mode := []string{"--cache-dir=" + w.of(debs)}
		if err := w.platform.debootstrap(mode, nodePackages(), t.directory, mirror).run(ctx); err != nil {
			return err
		}
		if err := w.installSecurity(ctx, debs, t.directory); err != nil {
			return err
		}
		if err := removeTraces(t); err != nil {
			return err
		}
		return adaptSystemd(t)
	})
}

// removeTraces drops what belongs to the one installation, and caches: /var is
// copied into each node's volume.
func removeTraces(t *tree) error {
	var errs []error
	for _, pattern := range []string{
		"var/cache/*", "var/lib/apt/lists/*", "var/log/*", "debootstrap", "etc/machine-id",
		"etc/resolv.conf", "etc/hostname", "var/lib/dpkg/*-old", "var/lib/systemd/*",
		"tmp/*", "run/*", "dev/*",
	} {
		matches, err := filepath.Glob(filepath.Join(t.directory, pattern))
		errs = append(errs, err)
		for _, match := range matches {
			errs = append(errs, os.RemoveAll(match))
		}
	}
	errs = append(errs, removeDocumentation(t.directory))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove traces of the installation: %w", err)
	}
	return nil
}

// nodeProgramsLayer is the container runtime and Kubernetes' programs.
func nodeProgramsLayer(c *components) *artifact {
	a := &artifact{
		name:   "node-programs",
		needs:  []*artifact{c.containerd, c.runc, c.criTools, c.cniPlugins, c.kubernetes},
		recipe: []string{"node.go"},
	}
	return layerArtifact(a, func(_ context.Context, w *workspace, t *tree) error {
		for _, program := range []string{"containerd", "containerd-shim-runc-v2", "ctr"} {
			t.copy(w.of(c.containerd, program), "usr/local/bin/"+program, 0o755)
		}
		t.copy(w.of(c.runc, "runc"), "usr/local/sbin/runc", 0o755)
		t.copy(w.of(c.criTools, "crictl"), "usr/local/bin/crictl", 0o755)
		for _, plugin := range []string{"host-local", "loopback", "portmap", "ptp"} {
			t.copy(w.of(c.cniPlugins, plugin), "opt/cni/bin/"+plugin, 0o755)
		}
		// The unit of the kubelet in kind's image expects it here.
		for _, program := range []string{"kubeadm", "kubectl", "kubelet"} {
			t.copy(w.of(c.kubernetes, program), "usr/bin/"+program, 0o755)
		}
		return nil
	})
}

// nodeConfigurationLayer is kind's files, and what kind adds when it builds.
func nodeConfigurationLayer(c *components, kindVersion, cniManifest string) *artifact {
	a := &artifact{
		name: "node-config", needs: []*artifact{c.containerd},
		recipe: []string{"node.go", "kind.go", "differences.go"},
		files:  []string{cniManifest},
		values: []string{kindVersion, c.kubernetesVersion},
	}
	return layerArtifact(a, func(ctx context.Context, w *workspace, t *tree) error {
		base, err := w.kindBase(ctx)
		if err != nil {
			return err
		}
		if err := addKindFiles(base, t); err != nil {
			return fmt.Errorf("copy kind's files: %w", err)
		}
		enableUnits(t)
		const configPath = "etc/containerd/config.toml"
		config, err := os.ReadFile(filepath.Join(t.directory, configPath))
		if err != nil {
			return fmt.Errorf("read containerd's configuration: %w", err)
		}
		withImports, err := addImports(string(config))
		if err != nil {
			return err
		}
		t.write(configPath, withImports, 0o644)
		t.mkdir("etc/containerd/conf.d", 0o755)
		generated, err := command{args: []string{w.of(c.containerd, "ctr"), "oci", "spec"}}.output(ctx)
		if err != nil {
			return err
		}
		spec, err := runtimeSpec(generated)
		if err != nil {
			return err
		}
		t.write("etc/containerd/cri-base.json", spec, 0o644)
		t.mkdir("etc/kubernetes/manifests", 0o755)
		t.write("kind/version", c.kubernetesVersion, 0o644)
		t.copy(cniManifest, "kind/manifests/default-cni.yaml", 0o644)
		return nil
	})
}

// nodeImage puts the layers together: what changes least is at the bottom.
func nodeImage(reference string, root, programs, images, configuration *artifact) *artifact {
	return &artifact{
		name: "node", needs: []*artifact{root, programs, images, configuration},
		recipe: []string{"node.go", "layer.go"},
		values: []string{reference},
		build: func(_ context.Context, w *workspace) error {
			w.say("putting the image together")
			return w.platform.writeImage(w.dir, reference, []imageLayer{
				{w.of(root, layerFile), "Debian " + debianSuite},
				{w.of(programs, layerFile), "container runtime, kubeadm, kubelet, kubectl"},
				{w.of(images, layerFile), "images of the control plane and the Pod network"},
				{w.of(configuration, layerFile), "configuration of kind's node image"},
			}, v1.Config{
				Env: []string{
					"PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
					"container=docker", // systemd looks for it
				},
				Entrypoint: []string{"/usr/local/bin/entrypoint", "/sbin/init"},
				// systemd ends for this signal; for SIGTERM it re-executes itself.
				StopSignal: "SIGRTMIN+3",
			})
		},
	}
}
