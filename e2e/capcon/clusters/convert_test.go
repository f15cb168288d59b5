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

package clusters_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"text/template"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"

	utilyaml "sigs.k8s.io/cluster-api/util/yaml"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/e2e/capd"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/templates"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// upstreamImage is the node image that CAPD's ClusterClasses name.
const upstreamImage = "docker.io/kindest/node:" + node.DefaultVersion

// TestConvert converts all templates of Cluster API's Docker provider, has the API server
// of a management plane check them, and makes clusters of some.
func TestConvert(t *testing.T) {
	eng := integration.Engine(t, capcontest.NodeImage, capcontest.LoadBalancerImage, capcontest.PlaneImage)
	c := &converted{engine: eng, program: capcontest.Build(t, "convert-plain"), directory: must.Get(capd.Module(t.Context()))(t)}
	info := must.Get(eng.Info(t.Context()))(t)
	c.socket = plane.EngineSocket(info)
	for _, name := range []string{"convert-plain", "convert-pool", "convert-class", "convert-ignition"} {
		c.program.About(name).DownBeforeAndAfter()
	}
	before := capcontest.Ours(t, eng)
	capcontest.MustExecute(t, integration.EngineName(), "tag", capcontest.NodeImage, upstreamImage)
	t.Cleanup(func() {
		remove := exec.CommandContext(context.WithoutCancel(t.Context()), integration.EngineName(), "rmi", upstreamImage)
		if output, err := remove.CombinedOutput(); err != nil {
			t.Errorf("remove %s: %v: %s", upstreamImage, err, output)
		}
	})
	const main = "e2e/data/infrastructure-docker/main/"
	capcontest.RunSteps(t, []capcontest.Step{
		{Name: "the API server accepts all", Run: c.areAccepted},
		{Name: "plain", Run: func(t *testing.T) { c.comesUp(t, "convert-plain", 2, main+"cluster-template") }},
		{Name: "machine pool", Run: func(t *testing.T) { c.comesUp(t, "convert-pool", 2, main+"cluster-template-machine-pool") }},
		{Name: "ClusterClass", Run: func(t *testing.T) {
			c.comesUp(t, "convert-class", 3, main+"clusterclass-quick-start.yaml", main+"cluster-template-topology")
		}},
		{Name: "Ignition", Run: func(t *testing.T) { c.comesUp(t, "convert-ignition", 2, main+"cluster-template-ignition") }},
		{Name: "nothing left", Run: func(t *testing.T) { capcontest.NothingLeftSince(t, eng, before) }},
	})
}

type converted struct {
	engine  engine.Engine
	program *capcontest.Program
	api     client.Client
	// directory of the templates, and socket of the engine.
	directory, socket string
}

// connect to a management plane, which ends with each last cluster.
func (c *converted) connect(t *testing.T) {
	t.Helper()
	must.Get(plane.New(c.engine, plane.Options{}).Ensure(t.Context(), capcontest.PlaneImage, nil))(t)
	c.api = client.WithFieldValidation(capcontest.Management(t, c.program.At(t)), metav1.FieldValidationStrict)
}

// objects of templates, converted and with their variables filled in.
func (c *converted) objects(t *testing.T, cluster string, paths ...string) []*unstructured.Unstructured {
	t.Helper()
	var found []*unstructured.Unstructured
	for _, path := range paths {
		var text string
		if strings.HasSuffix(path, ".yaml") {
			text = string(must.Get(os.ReadFile(filepath.Join(c.directory, path)))(t))
		} else {
			text = must.Get(capd.Build(filepath.Join(c.directory, path)))(t)
		}
		text, _, err := capd.Convert(path, text)
		must.Succeed(t, err)
		text = must.Get(capd.Fill(text, c.variables(t, cluster)))(t)
		// What the findings say about the mount.
		text = strings.ReplaceAll(text, "hostPath: /var/run/docker.sock", "hostPath: "+c.socket)
		text = strings.ReplaceAll(text, `hostPath: "/var/run/docker.sock"`, "hostPath: "+c.socket)
		for _, object := range must.Get(utilyaml.ToUnstructured([]byte(text)))(t) {
			if object.GetNamespace() == "" {
				object.SetNamespace(metav1.NamespaceDefault)
			}
			found = append(found, &object)
		}
	}
	return found
}

// variables as the specs of Cluster API have them.
func (c *converted) variables(t *testing.T, cluster string) map[string]string {
	t.Helper()
	const pods = "10.244.0.0/16"
	var network strings.Builder
	parsed := must.Get(template.New("cni").Parse(templates.Flannel))(t)
	must.Succeed(t, parsed.Execute(&network, struct{ PodSubnet string }{pods}))
	resources := must.Get(json.Marshal(map[string]string{"cni.yaml": network.String()}))(t)
	return map[string]string{
		"CLUSTER_NAME": cluster, "NAMESPACE": metav1.NamespaceDefault, "KUBERNETES_VERSION": node.DefaultVersion,
		"CONTROL_PLANE_MACHINE_COUNT": "1", "WORKER_MACHINE_COUNT": "1",
		"DOCKER_SERVICE_CIDRS": "10.128.0.0/12", "DOCKER_POD_CIDRS": pods, "DOCKER_SERVICE_DOMAIN": "cluster.local",
		"DOCKER_SERVICE_IPV6_CIDRS": "fd00:100:64::/108", "DOCKER_POD_IPV6_CIDRS": "fd00:100:96::/48",
		"CNI_RESOURCES": string(resources), "EXTENSION_CONFIG_NAME": "extension", "TOKEN": "token", "SERVER": "https://example.com",
	}
}

// areAccepted creates all objects of Cluster API in a dry run: the webhooks and schemas of the plane check them.
func (c *converted) areAccepted(t *testing.T) {
	c.connect(t)
	files, directories, err := capd.Templates(c.directory)
	must.Succeed(t, err)
	for _, path := range append(files, directories...) {
		for _, object := range c.objects(t, "convert-dry", path) {
			if !strings.Contains(object.GetAPIVersion(), "cluster.x-k8s.io/") {
				continue
			}
			err := c.create(t, object, client.DryRunAll)
			if err != nil && strings.HasSuffix(err.Error(), "patch.external can be used only if the RuntimeSDK feature flag is enabled") {
				continue // A plane has no runtime extensions: go test ./capd validates these classes.
			}
			if err != nil {
				t.Errorf("%s: %s %s: %v", path, object.GetKind(), object.GetName(), err)
			}
		}
	}
}

// create an object. The plane's webhooks may need a moment after its start.
func (c *converted) create(t *testing.T, object client.Object, options ...client.CreateOption) error {
	t.Helper()
	var refused error
	capcontest.Eventually(t, "the plane answers", func(ctx context.Context) (string, error) {
		refused = c.api.Create(ctx, object, options...)
		if apierrors.IsInternalError(refused) {
			return "", refused
		}
		return "", nil
	})
	return refused
}

// comesUp makes a cluster and deletes it.
func (c *converted) comesUp(t *testing.T, cluster string, nodes int, paths ...string) {
	c.connect(t)
	program := c.program.At(t).About(cluster)
	for _, object := range c.objects(t, cluster, paths...) {
		if err := c.create(t, object); err != nil {
			t.Fatalf("create %s %s: %v", object.GetKind(), object.GetName(), err)
		}
	}
	capcontest.Eventually(t, "there is a kubeconfig", func(ctx context.Context) (string, error) {
		_, err := program.Command(ctx, "kubeconfig", cluster).Output()
		return "", err
	})
	capcontest.NodesReady(t, program.ConnectCluster(), nodes)
	capcontest.MachinesReady(t, program)
	program.MustRun("down", cluster)
}
