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

package bootstrap

import (
	"bytes"
	"maps"
	"regexp"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
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

// Adaptation is what kubeadm's documents need in a container. Keys the user gave are kept; only missing ones are added.
type Adaptation struct {
	// IgnorePreflightErrors are added to nodeRegistration.ignorePreflightErrors of InitConfiguration and
	// JoinConfiguration.
	IgnorePreflightErrors []string
	// KubeProxyConntrack are keys below conntrack of the KubeProxyConfiguration that goes with a kubeadm init, with
	// values as YAML scalars. The document is added where there is none.
	KubeProxyConntrack map[string]string
}

// ContainerAdaptation returns the adaptation every node in a container needs. The caller may change it.
func ContainerAdaptation() Adaptation {
	return Adaptation{
		IgnorePreflightErrors: []string{
			// The kernel's configuration and the storage driver are the host's.
			"SystemVerification",
			// Swap is the host's, and the kubelet is configured to tolerate it.
			"Swap",
			// The file is there only once the host has loaded br_netfilter, which a container cannot do.
			"FileContent--proc-sys-net-bridge-bridge-nf-call-iptables",
		},
		// 0 leaves nf_conntrack_max alone: it is read-only outside the initial network namespace, and kube-proxy ends
		// when it cannot write it.
		KubeProxyConntrack: map[string]string{"maxPerCore": "0"},
	}
}

// Adapt returns a copy of the configuration in which kubeadm's documents (v1beta3 and v1beta4) in its files are adapted.
// It edits the YAML, so that order and comments stay; ClusterConfiguration is never touched, and what needs nothing stays
// byte for byte. The receiver is not changed.
//
// A user may bring a KubeProxyConfiguration in another file or in a command that appends it to kubeadm's file. kubeadm
// refuses two of them, so that then none is added; one in a file gets the keys it lacks, one in a command stays as it is.
//
// The error is an *InvalidError: a file claims to be a kubeadm document and is broken.
func (c Config) Adapt(a Adaptation) (Config, error) {
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
		adapted, err := documents.adapt(a)
		if err != nil {
			return Config{}, err
		}
		if !bringsKubeProxy {
			adapted = documents.addKubeProxy(adapted, a)
		}
		c.Files[i].Content = adapted
	}
	return c, nil
}

func (c Config) mentionsKubeProxy() bool {
	for _, file := range c.Files {
		if bytes.Contains(file.Content, []byte(kindKubeProxy)) {
			return true
		}
	}
	for _, command := range slices.Concat(c.BootCommands, c.Commands) {
		if strings.Contains(command.shell(), kindKubeProxy) {
			return true
		}
	}
	return false
}

// KubeadmOperation says what kubeadm will do with the files of the configuration.
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

func (d documents) any(matches func(document) bool) bool {
	return slices.ContainsFunc(d, matches)
}

// adapt returns the text with adapted documents; those that need nothing stay byte for byte.
func (d documents) adapt(a Adaptation) ([]byte, error) {
	var out bytes.Buffer
	for _, document := range d {
		changed := false
		switch {
		case isRegistration(document):
			changed = document.ignorePreflightErrors(a.IgnorePreflightErrors)
		case isKubeProxy(document):
			changed = document.conntrack(a.KubeProxyConntrack)
		}
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

// addKubeProxy returns text, the documents' own, with a KubeProxyConfiguration at its end if it is a kubeadm init's.
func (d documents) addKubeProxy(text []byte, a Adaptation) []byte {
	isInit := func(document document) bool { return document.is(kubeadmGroup, kindInit) }
	if len(a.KubeProxyConntrack) == 0 || !d.any(isInit) {
		return text
	}
	out := bytes.NewBuffer(text)
	if !bytes.HasSuffix(text, []byte("\n")) {
		out.WriteByte('\n')
	}
	out.WriteString("---\napiVersion: " + kubeProxyGroup + "v1alpha1\nkind: " + kindKubeProxy + "\nconntrack:\n")
	for _, key := range slices.Sorted(maps.Keys(a.KubeProxyConntrack)) {
		out.WriteString("  " + key + ": " + a.KubeProxyConntrack[key] + "\n")
	}
	return out.Bytes()
}

func isRegistration(d document) bool {
	return d.is(kubeadmGroup, kindInit) || d.is(kubeadmGroup, kindJoin)
}

func isKubeProxy(d document) bool {
	return d.is(kubeProxyGroup, kindKubeProxy)
}

// ignorePreflightErrors adds checks to ignore and says whether there were any to add. "all" takes no company.
func (d document) ignorePreflightErrors(checks []string) (changed bool) {
	registration := child(d.root, "nodeRegistration", yaml.MappingNode)
	if registration == nil || len(checks) == 0 {
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
	for _, check := range checks {
		if !ignored(check) {
			list.Content = append(list.Content, &yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: check})
			changed = true
		}
	}
	return changed
}

// conntrack adds keys that are missing and says whether there were any.
func (d document) conntrack(defaults map[string]string) (changed bool) {
	conntrack := child(d.root, "conntrack", yaml.MappingNode)
	if conntrack == nil {
		return false
	}
	for _, key := range slices.Sorted(maps.Keys(defaults)) {
		if lookup(conntrack, key) == nil {
			conntrack.Content = append(conntrack.Content,
				&yaml.Node{Kind: yaml.ScalarNode, Tag: "!!str", Value: key},
				&yaml.Node{Kind: yaml.ScalarNode, Value: defaults[key]})
			changed = true
		}
	}
	return changed
}
