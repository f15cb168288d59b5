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

package nodefiles

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"k8s.io/utils/ptr"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/cluster-api/bootstrap/kubeadm/pkg/cloudinit"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/reader"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/script"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

// reserved are files and directories that the first boot, kubeadm or the kubelet write after the files of the bootstrap
// data, or instead of them: a node does not have there what the data says. What kubeadm reads only while a node joins is
// among them: a change would be without effect. Engines mount files of their own over /etc/hosts, /etc/hostname and
// /etc/resolv.conf, which cannot be removed.
func reserved() []string {
	return append(script.Paths(),
		"/run/kubeadm", "/run/cluster-api", directory, "/proc", "/sys", "/dev", "/etc/hosts", "/etc/hostname", "/etc/resolv.conf",
		"/etc/kubernetes/patches", "/etc/kubernetes/pki", "/etc/kubernetes/admin.conf", "/etc/kubernetes/super-admin.conf", "/etc/kubernetes/kubelet.conf",
		"/etc/kubernetes/controller-manager.conf", "/etc/kubernetes/scheduler.conf", "/etc/kubernetes/manifests/etcd.yaml",
		"/etc/kubernetes/manifests/kube-apiserver.yaml", "/etc/kubernetes/manifests/kube-controller-manager.yaml", "/etc/kubernetes/manifests/kube-scheduler.yaml",
		"/var/lib/kubelet/config.yaml", "/var/lib/kubelet/kubeadm-flags.env", "/var/lib/kubelet/pki",
	)
}

// isReserved reports whether a file is kept. /var/run is a link to /run in each node.
func isReserved(name string) bool {
	return isBelowAny(reserved(), name) || isBelowAny(reserved(), strings.TrimPrefix(name, "/var"))
}

func isBelowAny(directories []string, name string) bool {
	return slices.ContainsFunc(directories, func(directory string) bool { return isBelow(directory, name) })
}

// mounted are the paths that the static Pods of a control plane have from its node. Components read them when they start.
func mounted(config *bootstrapv1.KubeadmConfigSpec) []string {
	var paths []string
	cluster := &config.ClusterConfiguration
	for _, volumes := range [][]bootstrapv1.HostPathMount{cluster.APIServer.ExtraVolumes, cluster.ControllerManager.ExtraVolumes, cluster.Scheduler.ExtraVolumes} {
		for _, volume := range volumes {
			paths = append(paths, clean(volume.HostPath))
		}
	}
	return paths
}

// Of returns what a node with that configuration is to have, where bootstrapData is the data of its first boot. Both are
// in the format cloud-config; in another, all files are kept. An error does not quote the data.
func Of(config *bootstrapv1.KubeadmConfigSpec, bootstrapData []byte) (Spec, error) {
	spec := split(config)
	if isIgnition(config) || len(bootstrapData) == 0 {
		return spec, nil
	}
	first, err := bootstrap.Parse(bootstrapData, userdata.FormatCloudConfig, userdata.Instance{})
	if err != nil {
		return Spec{}, fmt.Errorf("parse bootstrap data: %w", err)
	}
	for _, file := range first.Files {
		if !file.Append && !isReserved(file.Path) && file.Path != config.JoinConfiguration.Discovery.File.KubeConfigPath {
			spec.Known = append(spec.Known, file.Path)
		}
	}
	slices.Sort(spec.Known)
	spec.Known = slices.Compact(spec.Known)
	return spec, nil
}

// CanChange reports whether nodes with the current files can get the desired ones while they run.
func CanChange(current, desired *bootstrapv1.KubeadmConfigSpec) bool {
	if isIgnition(current) || isIgnition(desired) || !slices.EqualFunc(keptFiles(current), keptFiles(desired), sameFile) {
		return false
	}
	// What was kept may have been added to, and what is removed must not be of another.
	kept := split(desired).Kept
	return !slices.ContainsFunc(split(current).Files, func(file File) bool { return slices.Contains(kept, file.Path) })
}

func isIgnition(config *bootstrapv1.KubeadmConfigSpec) bool {
	return config.Format == bootstrapv1.Ignition
}

func sameFile(a, b bootstrapv1.File) bool {
	isAppended := ptr.Deref(a.Append, false) == ptr.Deref(b.Append, false)
	a.Append, b.Append = nil, nil
	return isAppended && a == b
}

// keptFiles are the entries of paths that are kept.
func keptFiles(config *bootstrapv1.KubeadmConfigSpec) []bootstrapv1.File {
	paths := split(config).Kept
	return slices.DeleteFunc(slices.Clone(config.Files), func(file bootstrapv1.File) bool { return !slices.Contains(paths, clean(file.Path)) })
}

// clean is the path that an entry has in the node.
func clean(name string) string { return path.Clean("/" + name) }

// split the files into those that the configuration alone determines, and those that are kept. The last entry of a path
// counts; all of them are kept if one is.
func split(config *bootstrapv1.KubeadmConfigSpec) Spec {
	var spec Spec
	files := map[string]File{}
	for _, entry := range config.Files {
		name := clean(entry.Path)
		file, err := fileOf(entry)
		if err != nil || isIgnition(config) || isBelowAny(mounted(config), name) {
			spec.Kept = append(spec.Kept, name)
			continue
		}
		files[name] = file
		if script.MergedByContainerd(name) {
			dropIn, content := script.ContainerdDropIn()
			files[dropIn] = File{Path: dropIn, Owner: rootOwner, Mode: defaultMode, Content: []byte(content)}
		}
	}
	slices.Sort(spec.Kept)
	spec.Kept = slices.Compact(spec.Kept)
	for name, file := range files {
		if !slices.Contains(spec.Kept, name) {
			spec.Files = append(spec.Files, file)
		}
	}
	slices.SortFunc(spec.Files, func(a, b File) int { return cmp.Compare(a.Path, b.Path) })
	return spec
}

// hasTag reports whether text has a part that the first boot replaces by values of its machine.
func hasTag(text string) bool {
	return slices.ContainsFunc([]string{"{{", "{%", "{#"}, func(tag string) bool { return strings.Contains(text, tag) })
}

const (
	rootOwner   = "root:root"
	defaultMode = 0o644
)

// errKept says that a file is kept as it is.
var errKept = errors.New("the file is kept")

// fileOf an entry is what the first boot of another node would write, by the same code: the text that Cluster API makes
// of the entry, as this provider reads it.
func fileOf(entry bootstrapv1.File) (File, error) {
	if ptr.Deref(entry.Append, false) || entry.ContentFrom.IsDefined() || entry.ContentFormat == bootstrapv1.FileContentFormatTemplate ||
		entry.Encoding == "" && hasTag(entry.Content) || isReserved(clean(entry.Path)) || strings.ContainsFunc(entry.Path, reader.IsControl) {
		return File{}, errKept
	}
	data, err := cloudinit.NewNode(&cloudinit.NodeInput{
		BaseUserData: cloudinit.BaseUserData{AdditionalFiles: []bootstrapv1.File{entry}}, JoinConfiguration: "kind: JoinConfiguration",
	})
	if err != nil {
		return File{}, fmt.Errorf("write cloud-config: %w", err)
	}
	config, err := bootstrap.Parse(data, userdata.FormatCloudConfig, userdata.Instance{})
	if err != nil {
		return File{}, fmt.Errorf("read cloud-config: %w", err)
	}
	// The others are those of Cluster API.
	if len(config.Files) == 0 || config.Files[0].Path != clean(entry.Path) || config.Files[0].Append {
		return File{}, errKept
	}
	file := config.Files[0]
	mode := cmp.Or(file.Mode, defaultMode)
	if mode == userdata.NoPermissions {
		mode = 0
	}
	return File{Path: file.Path, Owner: cmp.Or(file.Owner, rootOwner), Mode: mode, Content: file.Content}, nil
}
