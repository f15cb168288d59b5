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

// Package script makes the archive that is uploaded into a container before its first start: a script that bootstraps the
// node, and the files that the script reads.
package script

import (
	"archive/tar"
	"bytes"
	_ "embed"
	"fmt"
	"maps"
	"net/netip"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/reader"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

const (
	// Directory is where the archive's files and script lie in the node. It holds secrets and is removed once the
	// bootstrap has ended, however it ended. It is on the root file system: an upload does not reach a volume or a tmpfs on
	// every engine.
	Directory = "/opt/cluster-api-bootstrap"

	unitDirectory = "etc/systemd/system"
	unitLink      = unitDirectory + "/multi-user.target.wants/" + userdata.BootstrapUnit
	// kubeletDropIns is the directory of kubeletDropIn. After kubeadm's drop-in, and after that of the script for
	// Ignition, which completes the flags.
	kubeletDropIns    = unitDirectory + "/kubelet.service.d"
	kubeletDropInName = kubeletDropIns + "/95-cluster-api-bootstrap.conf"

	// containerdDirectory has what containerd merges into its configuration: by its own default since 2.2, in our node
	// images, and with containerdDropIn in those whose configuration has no imports.
	containerdDirectory  = "/etc/containerd/conf.d"
	containerdDropInName = unitDirectory + "/containerd.service.d/40-cluster-api-bootstrap.conf"
	containerdDropIn     = `# containerd merges the files of the bootstrap data into its configuration.
[Service]
ExecStartPre=/bin/sh -c "grep -q ^imports /etc/containerd/config.toml || sed -i '1i imports = [\"/etc/containerd/conf.d/*.toml\"]' /etc/containerd/config.toml"
`
)

// Paths are those in the node that the bootstrap is made of. What hides one of them, such as a mount, breaks the
// bootstrap; what leads one of them out of the node, also a mount, shows its secrets, or lets one machine believe what
// another recorded.
func Paths() []string {
	return []string{Directory, path.Dir(record.Path), "/" + unitDirectory + "/" + userdata.BootstrapUnit, "/" + unitLink, userdata.KubeletDefaults}
}

//go:embed bootstrap.sh
var script []byte

// ignitionScript is what the script needs for the steps that only Ignition has.
//
//go:embed ignition.sh
var ignitionScript []byte

// initScript is what the script needs to complete a kubeadm init.
//
//go:embed init.sh
var initScript []byte

// kubeletScript leaves out flags that the kubelet's configuration sets. It stays in the node.
//
//go:embed kubelet.sh
var kubeletScript []byte

// Kubelet is the script that a kubelet's unit runs before each of its starts, for nodes of earlier releases.
func Kubelet() []byte { return kubeletScript }

// kubeletDropIn runs that script before each start of the kubelet.
//
//go:embed kubelet.conf
var kubeletDropIn []byte

//go:embed cluster-api-bootstrap.service
var unit []byte

// ContainerdDropIn is a file of the node, as path and content, with which containerd merges the files that
// MergedByContainerd is true for, whatever the node image.
func ContainerdDropIn() (name, content string) { return "/" + containerdDropInName, containerdDropIn }

// MergedByContainerd reports whether containerd merges a file of that path into its configuration.
func MergedByContainerd(name string) bool {
	return path.Dir(name) == containerdDirectory && path.Ext(name) == ".toml"
}

// Input is everything an archive is made of.
type Input struct {
	// Config is the user's part, parsed and adapted.
	Config userdata.Config
	// Instance is the machine's; its ID is INSTANCE_ID in the environment of commands, as in cloud-init.
	Instance userdata.Instance
	// KubeletFlags are flags such as --provider-id=container:///name. They are added after the user's own in
	// KUBELET_EXTRA_ARGS of /etc/default/kubelet, just before each of the user's commands, so that they survive a user
	// who writes that file. A flag the user gives wins, there or in kubeadm's kubeletExtraArgs; of flags that hold a
	// pair (--node-labels=key=value) the user's pairs win. One pair per flag.
	KubeletFlags []string
	// Addresses of the node, the primary one first, which its kubelet registers and its API server advertises; none
	// leaves both to the defaults of Kubernetes, which are of IPv4.
	Addresses []netip.Addr
	// SystemFiles are contents by their paths from the root, such as etc/systemd/system/NAME.service.d/NAME.conf. They
	// are there when systemd starts, owned by root and readable by all.
	SystemFiles map[string]string
}

// Archive returns an uncompressed tar to be extracted at "/" of a container that was created and not started yet, with
// ownership kept. Equal input gives equal bytes. It holds the private keys that the input holds.
//
// An error means that a value has a control character and would break out of its line.
func Archive(in Input) ([]byte, error) {
	in, err := in.withAddresses()
	if err != nil {
		return nil, err
	}
	flags, err := in.kubeletFlags()
	if err != nil {
		return nil, err
	}
	if strings.ContainsFunc(in.Instance.ID, reader.IsControl) {
		return nil, fmt.Errorf("instance ID %q contains a control character", in.Instance.ID)
	}
	planned, err := plan(in.Config)
	if err != nil {
		return nil, err
	}
	a := newArchiver()
	base := strings.TrimPrefix(Directory, "/")
	a.directory(base)
	a.file(path.Join(base, "bootstrap"), script)
	if in.Config.Format == userdata.FormatIgnition {
		a.file(path.Join(base, "ignition"), ignitionScript)
	}
	a.file(path.Join(base, "instance-id"), []byte(in.Instance.ID+"\n"))
	a.file(path.Join(base, "kubelet-flags"), []byte(lines(flags)))
	a.file(path.Join(base, "kubelet-settings"), []byte(kubeletSettings(flags)))
	a.file(path.Join(base, "kubelet"), kubeletScript)
	if in.Config.KubeadmOperation() == userdata.KubeadmJoinControlPlane {
		a.file(path.Join(base, "joins-control-plane"), nil)
	}
	a.directory(path.Join(base, "steps"))
	a.initCompletion(path.Join(base, "init"), planned.init)
	for i, step := range planned.steps {
		directory := path.Join(base, "steps", step.directory(i))
		a.directory(directory)
		for _, f := range step.files {
			a.file(path.Join(directory, f.name), f.content)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(in.SystemFiles)) {
		a.dropIn(name, []byte(in.SystemFiles[name]))
	}
	a.dropIn(kubeletDropInName, kubeletDropIn)
	a.containerd(in.Config.Files)
	a.public(path.Join(unitDirectory, userdata.BootstrapUnit), unit)
	a.link(unitLink, "../"+userdata.BootstrapUnit)
	return a.finish()
}

// withAddresses is the input for a node that has these addresses.
func (in Input) withAddresses() (Input, error) {
	if len(in.Addresses) == 0 {
		return in, nil
	}
	texts := make([]string, 0, len(in.Addresses))
	for _, address := range in.Addresses {
		texts = append(texts, address.String())
	}
	in.KubeletFlags = append(slices.Clone(in.KubeletFlags), "--node-ip="+strings.Join(texts, ","))
	config, err := in.Config.Advertise(in.Addresses[0])
	if err != nil {
		return in, fmt.Errorf("add addresses of the node to its kubeadm configuration: %w", err)
	}
	in.Config = config
	return in, nil
}

// archiver writes a tar. Its first error is kept and returned at the end.
type archiver struct {
	buffer *bytes.Buffer
	writer *tar.Writer
	err    error
}

func newArchiver() *archiver {
	buffer := &bytes.Buffer{}
	return &archiver{buffer: buffer, writer: tar.NewWriter(buffer)}
}

func (a *archiver) add(header tar.Header, content []byte) {
	if a.err != nil {
		return
	}
	// A fixed time makes equal input equal bytes. Not 0, which some tools take for "no time".
	header.ModTime = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)
	header.Size = int64(len(content))
	if a.err = a.writer.WriteHeader(&header); a.err == nil {
		_, a.err = a.writer.Write(content)
	}
}

// directory adds one of our own directories. Directories of the image are left to the engine: an entry would change
// their mode.
func (a *archiver) directory(name string) {
	a.add(tar.Header{Typeflag: tar.TypeDir, Name: name + "/", Mode: 0o700}, nil)
}

func (a *archiver) file(name string, content []byte) {
	a.add(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o600}, content)
}

func (a *archiver) public(name string, content []byte) {
	a.add(tar.Header{Typeflag: tar.TypeReg, Name: name, Mode: 0o644}, content)
}

// dropIn is a public file in a directory that the image may lack.
func (a *archiver) dropIn(name string, content []byte) {
	a.add(tar.Header{Typeflag: tar.TypeDir, Name: path.Dir(name) + "/", Mode: 0o755}, nil)
	a.public(name, content)
}

// initCompletion adds what completes a kubeadm init, if there is one.
func (a *archiver) initCompletion(directory string, init initCompletion) {
	if init.step == "" {
		return
	}
	a.directory(directory)
	a.file(path.Join(directory, "functions"), initScript)
	a.file(path.Join(directory, "step"), []byte(init.step+"\n"))
	a.file(path.Join(directory, "path"), []byte(init.config+"\n"))
	a.file(path.Join(directory, "run"), []byte(init.run))
}

// containerd adds the files that containerd merges when it starts, which is before the bootstrap. Their steps also run: they
// set owner and mode.
func (a *archiver) containerd(files []userdata.File) {
	for _, file := range files {
		if !MergedByContainerd(file.Path) || file.Append || file.Overwrite == userdata.SwitchOff {
			continue
		}
		a.dropIn(containerdDropInName, []byte(containerdDropIn))
		a.add(tar.Header{Typeflag: tar.TypeDir, Name: containerdDirectory[1:] + "/", Mode: 0o755}, nil)
		a.file(file.Path[1:], file.Content)
	}
}

func (a *archiver) link(name, target string) {
	a.add(tar.Header{Typeflag: tar.TypeSymlink, Name: name, Linkname: target, Mode: 0o777}, nil)
}

func (a *archiver) finish() ([]byte, error) {
	if a.err == nil {
		a.err = a.writer.Close()
	}
	if a.err != nil {
		return nil, fmt.Errorf("write bootstrap archive: %w", a.err)
	}
	return a.buffer.Bytes(), nil
}
