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

package capcontest

import (
	"errors"
	"io"
	"os"
	"regexp"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// variable as clusterctl has them: ${NAME} or ${NAME:=default}.
var variable = regexp.MustCompile(`\$\{(\w+)(:=([^${}]*))?\}`)

// FillIn returns the objects of a file, with its variables filled in; the
// innermost first, because a default may name another one.
func FillIn(t *testing.T, file string, values map[string]string) []*unstructured.Unstructured {
	t.Helper()
	content := must.Get(os.ReadFile(file))(t)
	text := string(content)
	for variable.MatchString(text) {
		text = variable.ReplaceAllStringFunc(text, func(use string) string {
			match := variable.FindStringSubmatch(use)
			if value, ok := values[match[1]]; ok {
				return value
			}
			if match[2] == "" {
				t.Fatalf("%s: variable %s is not given", file, match[1])
			}
			return match[3]
		})
	}
	var objects []*unstructured.Unstructured
	decoder := yaml.NewYAMLOrJSONDecoder(strings.NewReader(text), len(text))
	for {
		object := &unstructured.Unstructured{}
		err := decoder.Decode(object)
		if errors.Is(err, io.EOF) {
			return objects
		}
		if err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		if len(object.Object) > 0 {
			objects = append(objects, object)
		}
	}
}

// FlavorValues are what a flavor's variables are set to: the images that the
// Engine has.
func FlavorValues(name string) map[string]string {
	return map[string]string{
		"CLUSTER_NAME": name, "NAMESPACE": metav1.NamespaceDefault, "KUBERNETES_VERSION": node.DefaultVersion,
		"CONTROL_PLANE_MACHINE_COUNT": "1", "WORKER_MACHINE_COUNT": "1",
		"CONTAINER_LOAD_BALANCER_IMAGE": LoadBalancerImage, "CONTAINER_NODE_IMAGE": NodeImage, "CONTAINER_POD_CIDR": podSubnet,
	}
}
