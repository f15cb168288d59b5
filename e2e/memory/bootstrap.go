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

package memory

import (
	"errors"
	"fmt"
	"path"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/yaml"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/script"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
)

// operation is what kubeadm does in a node.
type operation string

const (
	operationInit             operation = "init"
	operationJoinControlPlane operation = "join of a control plane"
	operationJoinWorker       operation = "join"
)

// bootstrapData is what a node was given before its first start.
type bootstrapData struct {
	operation operation
	// files of the user, by their path in the node.
	files map[string]string
	// clusterConfiguration of kubeadm init, as YAML.
	clusterConfiguration string
	registration         nodeRegistration
	// kubeletFlags of this provider, such as "--provider-id=…".
	kubeletFlags []string
}

// nodeRegistration is that of kubeadm's v1beta4 and v1beta3.
type nodeRegistration struct {
	Name string `json:"name"`
	// Taints are those of kubeadm where they are nil.
	Taints []corev1.Taint `json:"taints"`
}

type kubeadmDocument struct {
	Kind             string           `json:"kind"`
	NodeRegistration nodeRegistration `json:"nodeRegistration"`
	ControlPlane     map[string]any   `json:"controlPlane"`
}

// errNoKubeadm: the data is for another bootstrap provider.
var errNoKubeadm = errors.New("the bootstrap data has no configuration of kubeadm, which is all that clusters in memory understand")

// readBootstrapData reads what the machine controller uploaded into a container; found is false
// where there is nothing.
func readBootstrapData(eng *simulated.Engine, container string) (data bootstrapData, found bool, err error) {
	uploaded, err := eng.Files(container, script.Directory)
	if err != nil || len(uploaded["bootstrap"]) == 0 {
		return data, false, err
	}
	data = bootstrapData{files: map[string]string{}, kubeletFlags: strings.Fields(string(uploaded["kubelet-flags"]))}
	for name, content := range uploaded {
		if directory, file := path.Split(name); file == "content" {
			data.files[strings.TrimSpace(string(uploaded[directory+"path"]))] = string(content)
		}
	}
	for _, content := range data.files {
		if !strings.Contains(content, "kubeadm.k8s.io/") {
			continue
		}
		for document := range strings.SplitSeq("\n"+content, "\n---") {
			if err := data.readDocument(document); err != nil {
				return data, true, err
			}
		}
	}
	if data.operation == "" {
		return data, true, errNoKubeadm
	}
	return data, true, nil
}

func (d *bootstrapData) readDocument(text string) error {
	var document kubeadmDocument
	if err := yaml.Unmarshal([]byte(text), &document); err != nil {
		return fmt.Errorf("read configuration of kubeadm: %w", err)
	}
	switch document.Kind {
	case "ClusterConfiguration":
		d.clusterConfiguration = strings.TrimSpace(text) + "\n"
	case "InitConfiguration":
		d.operation, d.registration = operationInit, document.NodeRegistration
	case "JoinConfiguration":
		d.operation, d.registration = operationJoinWorker, document.NodeRegistration
		if document.ControlPlane != nil {
			d.operation = operationJoinControlPlane
		}
	}
	return nil
}

// providerID that the kubelet was given.
func (d *bootstrapData) providerID() string {
	for _, flag := range d.kubeletFlags {
		if id, ok := strings.CutPrefix(flag, "--provider-id="); ok {
			return id
		}
	}
	return ""
}

// nodeLabels that the kubelet was given.
func (d *bootstrapData) nodeLabels() map[string]string {
	labels := map[string]string{}
	for _, flag := range d.kubeletFlags {
		pairs, ok := strings.CutPrefix(flag, "--node-labels=")
		if !ok {
			continue
		}
		for pair := range strings.SplitSeq(pairs, ",") {
			key, value, _ := strings.Cut(pair, "=")
			labels[key] = value
		}
	}
	return labels
}
