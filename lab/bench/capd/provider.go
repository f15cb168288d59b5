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
	"embed"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"
)

const namespace = "default"

//go:embed clusters
var clusterFiles embed.FS

// provider is one of those that are compared.
type provider struct {
	// key is for files and clusters' names, title for users.
	key, title string
	// manager of the provider, whose engine calls go through a socket.
	manager func(b *bench, socket string) manager
	// template of a cluster.
	template func(b *bench) ([]byte, error)
	// clusterLabel of the provider's containers; its value is the cluster's name.
	clusterLabel string
	// kinds of the provider's objects, for the journal.
	kinds []schema.GroupVersionKind
}

func kinds(version string, names ...string) []schema.GroupVersionKind {
	all := make([]schema.GroupVersionKind, 0, len(names))
	for _, name := range names {
		all = append(all, schema.GroupVersionKind{Group: "infrastructure.cluster.x-k8s.io", Version: version, Kind: name})
	}
	return all
}

// contract are the labels of CRDs by which Cluster API finds versions.
func contract(version string) map[string]string {
	return map[string]string{"cluster.x-k8s.io/v1beta2": version}
}

// stock are Cluster API's own managers.
func (b *bench) stock() []manager {
	return []manager{
		{name: "core", path: filepath.Join(b.managers, "core"), config: filepath.Join(b.capiModule, "core", "config"), webhooks: true, labels: contract("v1beta2")},
		{name: "bootstrap", path: filepath.Join(b.managers, "bootstrap"), config: filepath.Join(b.capiModule, "bootstrap", "kubeadm", "config"), webhooks: true, labels: contract("v1beta2")},
		{name: "control-plane", path: filepath.Join(b.managers, "control-plane"), config: filepath.Join(b.capiModule, "controlplane", "kubeadm", "config"), webhooks: true, labels: contract("v1beta2")},
	}
}

// capd is Cluster API's own provider for development.
func capd() provider {
	return provider{
		key: "capd", title: "CAPD", clusterLabel: "io.x-k8s.kind.cluster",
		kinds: kinds("v1beta2", "DevCluster", "DevMachine"),
		manager: func(b *bench, socket string) manager {
			return manager{
				name: "capd", path: filepath.Join(b.managers, "capd"), webhooks: true, labels: contract("v1beta2"),
				config: filepath.Join(b.capdModule, "infrastructure", "docker", "config"),
				env:    []string{"DOCKER_HOST=unix://" + socket},
			}
		},
		template: func(*bench) ([]byte, error) { return clusterFiles.ReadFile("clusters/capd.yaml") },
	}
}

// container is the provider of this repository, with the role that its
// manifests give it and no more.
func container() provider {
	return provider{
		key: "container", title: "this provider", clusterLabel: "container.infrastructure.cluster.x-k8s.io/cluster",
		kinds: kinds("v1alpha1", "ContainerCluster", "ContainerMachine"),
		manager: func(b *bench, socket string) manager {
			return manager{
				name: "container", path: filepath.Join(b.artifacts, "manager"), webhooks: true, labels: contract("v1alpha1"), role: "manager-role",
				config: filepath.Join(b.root, "config"),
				env:    []string{"DOCKER_HOST=unix://" + socket},
			}
		},
		template: func(b *bench) ([]byte, error) {
			return os.ReadFile(filepath.Join(b.root, "templates", "cluster-template.yaml"))
		},
	}
}

// managerArguments are those of the manager's own Deployment, with the defaults
// of its variables.
func (b *bench) managerArguments(one manager) ([]string, error) {
	content, err := os.ReadFile(filepath.Join(one.config, "manager", "manager.yaml"))
	if err != nil {
		return nil, fmt.Errorf("read Deployment of %s: %w", one.name, err)
	}
	objects, err := expand(content, nil)
	if err != nil {
		return nil, fmt.Errorf("expand Deployment of %s: %w", one.name, err)
	}
	for _, object := range objects {
		containers, found, err := unstructured.NestedSlice(object.Object, "spec", "template", "spec", "containers")
		if err != nil || !found {
			continue
		}
		args, _, err := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
		return args, err
	}
	return nil, fmt.Errorf("find Deployment of %s: %w", one.name, os.ErrNotExist)
}

// shape of a cluster.
type shape struct{ controlPlanes, workers int }

func (s shape) String() string { return fmt.Sprintf("%d + %d", s.controlPlanes, s.workers) }

func (s shape) machines() int { return s.controlPlanes + s.workers }

// clusterObjects are the objects of a cluster, as clusterctl generates them.
func (b *bench) clusterObjects(p provider, name string, s shape) ([]*unstructured.Unstructured, error) {
	template, err := p.template(b)
	if err != nil {
		return nil, fmt.Errorf("read template: %w", err)
	}
	_, tag, _ := strings.Cut(b.nodeImage, ":")
	repository, loadBalancerTag, _ := strings.Cut(b.capdLoadBalancer, "/haproxy:")
	return expand(template, map[string]string{
		"CLUSTER_NAME": name, "NAMESPACE": namespace, "KUBERNETES_VERSION": tag,
		"CONTROL_PLANE_MACHINE_COUNT":   strconv.Itoa(s.controlPlanes),
		"WORKER_MACHINE_COUNT":          strconv.Itoa(s.workers),
		"CONTAINER_NODE_IMAGE":          b.nodeImage,
		"CONTAINER_LOAD_BALANCER_IMAGE": b.loadBalancer,
		"CONTAINER_POD_CIDR":            podSubnet,
		"CONTAINER_CNI":                 "none",
		"LOAD_BALANCER_REPOSITORY":      repository,
		"LOAD_BALANCER_TAG":             loadBalancerTag,
		"HOST_FILES":                    b.hostFiles,
	})
}

// expand fills in variables as clusterctl does.
func expand(template []byte, values map[string]string) ([]*unstructured.Unstructured, error) {
	content, err := yamlprocessor.NewSimpleProcessor().Process(template, func(name string) (string, error) {
		value, found := values[name]
		if !found {
			return "", fmt.Errorf("variable %s: %w", name, os.ErrNotExist)
		}
		return value, nil
	})
	if err != nil {
		return nil, fmt.Errorf("fill in variables: %w", err)
	}
	return parseObjects(content)
}

// haproxyTemplate is what CAPD's load balancers are configured from.
func haproxyTemplate() (*corev1.ConfigMap, error) {
	content, err := clusterFiles.ReadFile("clusters/haproxy.cfg.tmpl")
	if err != nil {
		return nil, fmt.Errorf("read haproxy template: %w", err)
	}
	template := &corev1.ConfigMap{Data: map[string]string{"value": string(content)}}
	template.Namespace, template.Name = namespace, "haproxy"
	return template, nil
}
