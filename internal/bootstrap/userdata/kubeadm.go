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

package userdata

import (
	"bytes"
	"fmt"
	"net/netip"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/reader"
)

const (
	kubeadmGroup   = "kubeadm.k8s.io/"
	kubeProxyGroup = "kubeproxy.config.k8s.io/"

	kindInit      = "InitConfiguration"
	kindJoin      = "JoinConfiguration"
	kindKubeProxy = "KubeProxyConfiguration"
)

// claimsKubeadm matches a line that only a document of kubeadm has at its top level.
var claimsKubeadm = regexp.MustCompile(`(?m)^apiVersion:[ \t]*["']?kubeadm\.k8s\.io/`)

// ignoredPreflightErrors are the checks of kubeadm that fail in containers without a reason.
var ignoredPreflightErrors = []string{
	// The kernel's configuration and the storage driver are the host's.
	"SystemVerification",
	// Swap is the host's, and the kubelet is configured to tolerate it.
	"Swap",
	// The file is there only once the host has loaded br_netfilter, which a container cannot do.
	"FileContent--proc-sys-net-bridge-bridge-nf-call-iptables",
}

// ConntrackMaxPerCore is conntrack.maxPerCore of kube-proxy in a container. 0 leaves nf_conntrack_max alone: it is
// read-only outside the initial network namespace, and kube-proxy ends when it cannot write it.
const ConntrackMaxPerCore = 0

// KubeadmOperation is what kubeadm will do in the node, as far as its configuration files say.
type KubeadmOperation string

const (
	// KubeadmNone means that the data holds no kubeadm configuration; another bootstrap provider made it.
	KubeadmNone KubeadmOperation = ""
	// KubeadmInit creates the first control plane.
	KubeadmInit KubeadmOperation = "init"
	// KubeadmJoinControlPlane adds a control plane and its etcd member: an interrupted one must not be repeated.
	KubeadmJoinControlPlane KubeadmOperation = "join-control-plane"
	// KubeadmJoinWorker adds a worker.
	KubeadmJoinWorker KubeadmOperation = "join-worker"
)

// KubeadmOperation returns what kubeadm will do with the files of the configuration.
func (c Config) KubeadmOperation() KubeadmOperation {
	operation := KubeadmNone
	for document := range c.kubeadmDocuments() {
		switch {
		case document.is(kubeadmGroup, kindInit):
			operation = KubeadmInit
		case !document.is(kubeadmGroup, kindJoin):
		case document.get("controlPlane") != nil:
			return KubeadmJoinControlPlane
		default:
			return KubeadmJoinWorker
		}
	}
	return operation
}

// KubeadmSkipPhases returns the phases of kubeadm init that the user skips in the configuration file at path.
func (c Config) KubeadmSkipPhases(path string) (phases []string, err error) {
	for _, file := range c.Files {
		if file.Path != path {
			continue
		}
		documents, err := kubeadmDocuments(file.Content)
		if err != nil {
			return nil, err
		}
		for _, document := range documents {
			list := document.get("skipPhases")
			if list == nil || !document.is(kubeadmGroup, kindInit) {
				continue
			}
			for _, phase := range list.Content {
				phases = append(phases, phase.Value)
			}
		}
	}
	return phases, nil
}

// Adapt returns a copy of the configuration in which kubeadm's documents (v1beta3 and v1beta4) in its files have what a
// node in a container needs. Keys of the user are kept; only missing ones are added. It edits the YAML, so that order and
// comments stay; ClusterConfiguration is never touched, and what needs nothing stays byte for byte. The receiver is not
// changed.
//
// A user may bring a KubeProxyConfiguration in another file or in a command that appends it to kubeadm's file. kubeadm
// refuses two of them, so that then none is added; one in a file gets the key it lacks, one in a command stays as it is.
//
// The error is a *reader.InvalidError: a file claims to be a kubeadm document and is broken.
func (c Config) Adapt() (Config, error) {
	bringsKubeProxy := c.mentionsKubeProxy()
	c.Files = slices.Clone(c.Files)
	for i, file := range c.Files {
		documents, err := kubeadmDocuments(file.Content)
		if err != nil {
			return Config{}, err
		}
		if !documents.any(isRegistration) && !documents.any(isKubeProxy) {
			continue
		}
		if c.Files[i].Content, err = documents.adapt(); err != nil {
			return Config{}, err
		}
		if !bringsKubeProxy && documents.any(isInit) {
			c.Files[i].Content = withKubeProxy(c.Files[i].Content)
		}
	}
	return c, nil
}

// Advertise returns a copy of the configuration in which the API server and etcd of the node use
// the address, where the user names none: kubeadm prefers IPv4. Documents of kubeadm are edited as
// by Adapt, of those of a worker none. The error is a *reader.InvalidError.
func (c Config) Advertise(address netip.Addr) (Config, error) {
	c.Files = slices.Clone(c.Files)
	for i, file := range c.Files {
		documents, err := kubeadmDocuments(file.Content)
		if err != nil {
			return Config{}, err
		}
		if !documents.any(isRegistration) {
			continue
		}
		c.Files[i].Content, err = documents.write(func(d document) bool { return isRegistration(d) && d.advertise(address) })
		if err != nil {
			return Config{}, err
		}
	}
	return c, nil
}

// advertise adds the address of the node's API server, and reports whether it was missing.
func (d document) advertise(address netip.Addr) (changed bool) {
	parent := d.root
	if !isInit(d) {
		if d.get("controlPlane") == nil {
			return false
		}
		if parent = child(d.root, "controlPlane", yaml.MappingNode); parent == nil {
			return false
		}
	}
	endpoint := child(parent, "localAPIEndpoint", yaml.MappingNode)
	if endpoint == nil {
		return false
	}
	const key = "advertiseAddress"
	switch value := reader.Lookup(endpoint, key); {
	case value == nil:
		endpoint.Content = append(endpoint.Content, text(key), text(address.String()))
	case reader.IsNull(value) || value.Kind == yaml.ScalarNode && value.Value == "":
		*value = *text(address.String())
	default:
		return false
	}
	return true
}

// adapt returns the text of the adapted documents.
func (d documents) adapt() ([]byte, error) {
	return d.write(func(d document) bool {
		return isRegistration(d) && d.ignorePreflightErrors() || isKubeProxy(d) && d.limitConntrack()
	})
}

// write returns the text of the documents after a change of each; those that need none stay byte for byte.
func (d documents) write(change func(document) bool) ([]byte, error) {
	var out bytes.Buffer
	for _, document := range d {
		changed := change(document)
		out.WriteString(document.marker)
		if !changed {
			out.WriteString(document.text)
			continue
		}
		if err := document.encode(&out); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), nil
}

// withKubeProxy appends a KubeProxyConfiguration to the documents of a kubeadm init.
func withKubeProxy(text []byte) []byte {
	if !bytes.HasSuffix(text, []byte("\n")) {
		text = append(text, '\n')
	}
	return fmt.Appendf(text, "---\napiVersion: %sv1alpha1\nkind: %s\nconntrack:\n  maxPerCore: %d\n",
		kubeProxyGroup, kindKubeProxy, ConntrackMaxPerCore)
}

func (c Config) mentionsKubeProxy() bool {
	return slices.ContainsFunc(c.Files, func(file File) bool { return bytes.Contains(file.Content, []byte(kindKubeProxy)) }) ||
		slices.ContainsFunc(slices.Concat(c.BootCommands, c.Commands), func(command Command) bool {
			return strings.Contains(command.Script(), kindKubeProxy)
		})
}

func isInit(d document) bool { return d.is(kubeadmGroup, kindInit) }

func isRegistration(d document) bool { return isInit(d) || d.is(kubeadmGroup, kindJoin) }

func isKubeProxy(d document) bool {
	return d.is(kubeProxyGroup, kindKubeProxy)
}

// ignorePreflightErrors adds checks to ignore and reports whether there were any to add. "all" takes no company.
func (d document) ignorePreflightErrors() (changed bool) {
	registration := child(d.root, "nodeRegistration", yaml.MappingNode)
	if registration == nil {
		return false
	}
	list := child(registration, "ignorePreflightErrors", yaml.SequenceNode)
	if list == nil {
		return false
	}
	ignored := func(check string) bool {
		return slices.ContainsFunc(list.Content, func(node *yaml.Node) bool { return strings.EqualFold(node.Value, check) })
	}
	if ignored("all") {
		return false
	}
	for _, check := range ignoredPreflightErrors {
		if !ignored(check) {
			list.Content = append(list.Content, text(check))
			changed = true
		}
	}
	return changed
}

// limitConntrack adds the limit of kube-proxy's conntrack entries, and reports whether it was missing.
func (d document) limitConntrack() (changed bool) {
	conntrack := child(d.root, "conntrack", yaml.MappingNode)
	if conntrack == nil || reader.Lookup(conntrack, "maxPerCore") != nil {
		return false
	}
	conntrack.Content = append(conntrack.Content, text("maxPerCore"),
		&yaml.Node{Kind: yaml.ScalarNode, Value: fmt.Sprint(ConntrackMaxPerCore)})
	return true
}
