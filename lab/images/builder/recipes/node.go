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
	"errors"
	"fmt"
	"os"
	"path/filepath"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/capi-samples/cluster-api-provider-container/images/builder/build"
	"github.com/capi-samples/cluster-api-provider-container/images/builder/debian"
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
func nodeRootLayer(debs *build.Artifact) *build.Artifact {
	a := &build.Artifact{
		Name: "node-root", Needs: []*build.Artifact{debs},
		Recipe: []string{"debian/debian.go", "debian/security.go", "recipes/node.go", "recipes/kind.go", "debian/userland.go"},
		Values: nodePackages(),
	}
	return build.Layer(a, func(ctx context.Context, w *build.Workspace, t *build.Tree) error {
		if err := w.PrepareHost(ctx); err != nil {
			return err
		}
		mirror, err := debian.FindMirror(os.DirFS(debian.SourcesDirectory), debian.Suite)
		if err != nil {
			return err
		}
		w.Say("installing Debian %s", debian.Suite)
		mode := []string{"--cache-dir=" + w.Of(debs)}
		if err := debian.Debootstrap(w.Platform, mode, nodePackages(), t.Directory, mirror).Run(ctx); err != nil {
			return err
		}
		if err := debian.InstallSecurity(ctx, w, debs, t.Directory); err != nil {
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
func removeTraces(t *build.Tree) error {
	var errs []error
	for _, pattern := range []string{
		"var/cache/*", "var/lib/apt/lists/*", "var/log/*", "debootstrap", "etc/machine-id",
		"etc/resolv.conf", "etc/hostname", "var/lib/dpkg/*-old", "var/lib/systemd/*",
		"tmp/*", "run/*", "dev/*",
	} {
		matches, err := filepath.Glob(filepath.Join(t.Directory, pattern))
		errs = append(errs, err)
		for _, match := range matches {
			errs = append(errs, os.RemoveAll(match))
		}
	}
	errs = append(errs, debian.RemoveDocumentation(t.Directory))
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("remove traces of the installation: %w", err)
	}
	return nil
}

// nodeProgramsLayer is the container runtime and Kubernetes' programs.
func nodeProgramsLayer(c *components) *build.Artifact {
	a := &build.Artifact{
		Name:   "node-programs",
		Needs:  []*build.Artifact{c.containerd, c.runc, c.criTools, c.cniPlugins, c.kubernetes},
		Recipe: []string{"recipes/node.go"},
	}
	return build.Layer(a, func(_ context.Context, w *build.Workspace, t *build.Tree) error {
		for _, program := range []string{"containerd", "containerd-shim-runc-v2", "ctr"} {
			t.Copy(w.Of(c.containerd, program), "usr/local/bin/"+program, 0o755)
		}
		t.Copy(w.Of(c.runc, "runc"), "usr/local/sbin/runc", 0o755)
		t.Copy(w.Of(c.criTools, "crictl"), "usr/local/bin/crictl", 0o755)
		for _, plugin := range []string{"host-local", "loopback", "portmap", "ptp"} {
			t.Copy(w.Of(c.cniPlugins, plugin), "opt/cni/bin/"+plugin, 0o755)
		}
		// The unit of the kubelet in kind's image expects it here.
		for _, program := range []string{"kubeadm", "kubectl", "kubelet"} {
			t.Copy(w.Of(c.kubernetes, program), "usr/bin/"+program, 0o755)
		}
		return nil
	})
}

// nodeConfigurationLayer is kind's files, and what kind adds when it builds.
func nodeConfigurationLayer(c *components, kindVersion, cniManifest string) *build.Artifact {
	a := &build.Artifact{
		Name: "node-config", Needs: []*build.Artifact{c.containerd},
		Recipe: []string{"recipes/node.go", "recipes/kind.go", "recipes/differences.go"},
		Files:  []string{cniManifest},
		Values: []string{kindVersion, c.kubernetesVersion},
	}
	return build.Layer(a, func(ctx context.Context, w *build.Workspace, t *build.Tree) error {
		base, err := kindBase(ctx, w.Builder)
		if err != nil {
			return err
		}
		if err := addKindFiles(base, t); err != nil {
			return fmt.Errorf("copy kind's files: %w", err)
		}
		enableUnits(t)
		const configPath = "etc/containerd/config.toml"
		config, err := os.ReadFile(filepath.Join(t.Directory, configPath))
		if err != nil {
			return fmt.Errorf("read containerd's configuration: %w", err)
		}
		withImports, err := addImports(string(config))
		if err != nil {
			return err
		}
		t.Write(configPath, withImports, 0o644)
		t.Mkdir("etc/containerd/conf.d", 0o755)
		generated, err := build.Command{Args: []string{w.Of(c.containerd, "ctr"), "oci", "spec"}}.Output(ctx)
		if err != nil {
			return err
		}
		spec, err := runtimeSpec(generated)
		if err != nil {
			return err
		}
		t.Write("etc/containerd/cri-base.json", spec, 0o644)
		t.Mkdir("etc/kubernetes/manifests", 0o755)
		t.Write("kind/version", c.kubernetesVersion, 0o644)
		t.Copy(cniManifest, "kind/manifests/default-cni.yaml", 0o644)
		return nil
	})
}

// nodeImage puts the layers together: what changes least is at the bottom.
func nodeImage(reference string, root, programs, images, configuration *build.Artifact) *build.Artifact {
	return &build.Artifact{
		Name: "node", Needs: []*build.Artifact{root, programs, images, configuration},
		Recipe: []string{"recipes/node.go", "build/layer.go"},
		Values: []string{reference},
		Build: func(_ context.Context, w *build.Workspace) error {
			w.Say("putting the image together")
			return w.Platform.WriteImage(w.Dir, reference, []build.ImageLayer{
				{File: w.Of(root, build.LayerFile), Comment: "Debian " + debian.Suite},
				{File: w.Of(programs, build.LayerFile), Comment: "container runtime, kubeadm, kubelet, kubectl"},
				{File: w.Of(images, build.LayerFile), Comment: "images of the control plane and the Pod network"},
				{File: w.Of(configuration, build.LayerFile), Comment: "configuration of kind's node image"},
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
