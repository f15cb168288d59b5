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

package contract

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/contract/internal/manifests"
)

// file is a Provider as YAML.
type file struct {
	Name        string   `json:"name"`
	Manifests   []string `json:"manifests"`
	Command     []string `json:"command"`
	Environment []string `json:"environment"`
	Kubeconfig  string   `json:"kubeconfig"`
	// Objects are files and directories.
	Objects               []string              `json:"objects"`
	MachineTemplateChange map[string]any        `json:"machineTemplateChange"`
	Infrastructure        Commands              `json:"infrastructure"`
	Endpoint              clusterv1.APIEndpoint `json:"endpoint"`
	Bootstrap             Bootstrap             `json:"bootstrap"`
	KubernetesVersion     string                `json:"kubernetesVersion"`
	Exceptions            map[string]string     `json:"exceptions"`
	Timing                struct {
		Timeout metav1.Duration `json:"timeout"`
		Quiet   metav1.Duration `json:"quiet"`
	} `json:"timing"`
}

// Load reads a provider from a YAML file. Its fields are those of Provider in lower camel case;
// objects are files, which ReadObjects reads, and infrastructure are Commands. Paths are relative to
// the working directory.
func Load(name string) (Provider, error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return Provider{}, fmt.Errorf("read provider: %w", err)
	}
	f := file{}
	if err := yaml.UnmarshalStrict(content, &f); err != nil {
		return Provider{}, fmt.Errorf("read provider %s: %w", name, err)
	}
	objects, err := ReadObjects(f.Objects...)
	if err != nil {
		return Provider{}, err
	}
	objects.MachineTemplateChange = f.MachineTemplateChange
	p := Provider{
		Name: f.Name, Manifests: f.Manifests, Command: f.Command, Environment: f.Environment, Kubeconfig: f.Kubeconfig,
		Objects: objects, Endpoint: f.Endpoint, Bootstrap: f.Bootstrap, KubernetesVersion: f.KubernetesVersion,
		Exceptions: f.Exceptions, Timing: Timing{Timeout: f.Timing.Timeout.Duration, Quiet: f.Timing.Quiet.Duration},
	}
	switch {
	case len(f.Infrastructure.RemoveCommand) > 0:
		p.Infrastructure = removing{f.Infrastructure}
	case len(f.Infrastructure.ExistsCommand) > 0:
		p.Infrastructure = f.Infrastructure
	}
	return p, nil
}

var errUnknownKind = errors.New("the kind is none of an infrastructure provider")

// ReadObjects reads Objects from YAML files and directories. Their kinds end with Cluster,
// ClusterTemplate, Machine, MachineTemplate or MachinePool. A cluster with the annotation
// cluster.x-k8s.io/managed-by is the ExternalCluster.
func ReadObjects(paths ...string) (Objects, error) {
	read, err := manifests.Read(paths...)
	if err != nil {
		return Objects{}, err
	}
	objects := Objects{}
	for i := range read {
		object := &read[i]
		_, external := object.GetAnnotations()[clusterv1.ManagedByAnnotation]
		switch kind := object.GetKind(); {
		case strings.HasSuffix(kind, "MachinePool"):
			objects.MachinePool = object
		case strings.HasSuffix(kind, "MachineTemplate"):
			objects.MachineTemplate = object
		case strings.HasSuffix(kind, "ClusterTemplate"):
			objects.ClusterTemplate = object
		case strings.HasSuffix(kind, "Machine"):
			objects.Machine = object
		case strings.HasSuffix(kind, "Cluster") && external:
			objects.ExternalCluster = object
		case strings.HasSuffix(kind, "Cluster"):
			objects.Cluster = object
		default:
			return Objects{}, fmt.Errorf("%s: %w", kind, errUnknownKind)
		}
	}
	return objects, nil
}

// Commands are an Infrastructure of programs, which get the object as JSON on their standard input.
type Commands struct {
	// ExistsCommand exits with 0 if something exists behind the object, with 1 if not.
	ExistsCommand []string `json:"exists"`
	// RemoveCommand removes it.
	RemoveCommand []string `json:"remove"`
}

// Exists runs ExistsCommand.
func (c Commands) Exists(ctx context.Context, object *unstructured.Unstructured) (bool, error) {
	err := run(ctx, c.ExistsCommand, object)
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() == 1 {
		return false, nil
	}
	return err == nil, err
}

// removing is a Remover.
type removing struct{ Commands }

// Remove runs RemoveCommand.
func (r removing) Remove(ctx context.Context, object *unstructured.Unstructured) error {
	return run(ctx, r.RemoveCommand, object)
}

func run(ctx context.Context, command []string, object *unstructured.Unstructured) error {
	input, err := json.Marshal(object)
	if err != nil {
		return fmt.Errorf("write object: %w", err)
	}
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Stdin = bytes.NewReader(input)
	if output, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("run %s: %w: %s", command[0], err, bytes.TrimSpace(output))
	}
	return nil
}
