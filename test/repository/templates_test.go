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

package repository

import (
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/runtime"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	controlplanev1 "sigs.k8s.io/cluster-api/api/controlplane/kubeadm/v1beta2"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/test/clusterctl"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// Each flavor, with its variables filled in, holds objects that the API
// knows, with no field misspelt, and whatever one of them refers to.
func TestTemplatesAreWhole(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{
		clusterv1.AddToScheme, bootstrapv1.AddToScheme, controlplanev1.AddToScheme, infrav1.AddToScheme,
	} {
		must.Succeed(t, add(scheme))
	}
	flavors, err := filepath.Glob(filepath.Join(root, "templates", "cluster-template*.yaml"))
	if err != nil || len(flavors) < 2 {
		t.Fatalf("templates: %v, %v", flavors, err)
	}
	for _, flavor := range flavors {
		t.Run(filepath.Base(flavor), func(t *testing.T) {
			t.Parallel()
			there := map[string]bool{}
			var wanted []string
			for _, object := range clusterctl.Decode(t, []byte(fillIn(t, readFile(t, "templates/"+filepath.Base(flavor))))) {
				there[name(object)] = true
				wanted = append(wanted, references(object.Object)...)
				typed, err := scheme.New(object.GroupVersionKind())
				if err != nil {
					t.Errorf("%s: %v", name(object), err)
					continue
				}
				if err := runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(object.Object, typed, true); err != nil {
					t.Errorf("%s: %v", name(object), err)
				}
				if object.GetNamespace() != "filled-in" {
					t.Errorf("%s is in the namespace %q", name(object), object.GetNamespace())
				}
			}
			for _, want := range wanted {
				if !there[want] {
					t.Errorf("%s is referred to and not there", want)
				}
			}
		})
	}
}

// A variable as clusterctl has them: ${NAME} or ${NAME:=default}.
var variable = regexp.MustCompile(`\$\{(\w+)(:=([^${}]*))?\}`)

// fillIn gives variables without a default a value; the innermost first,
// because a default may name another one.
func fillIn(t *testing.T, template string) string {
	t.Helper()
	for variable.MatchString(template) {
		template = variable.ReplaceAllStringFunc(template, func(use string) string {
			match := variable.FindStringSubmatch(use)
			switch {
			case match[2] != "":
				return match[3]
			case strings.HasSuffix(match[1], "_COUNT"):
				return "1"
			case match[1] == "KUBERNETES_VERSION":
				return "v1.36.3"
			default:
				return "filled-in"
			}
		})
	}
	return template
}

// references lists the kinds and names of what is referred to below a value.
func references(value any) []string {
	var found []string
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			found = append(found, references(element)...)
		}
	case map[string]any:
		if group, kind := value["apiGroup"], value["kind"]; group != nil && kind != nil {
			found = append(found, fmt.Sprintf("%s %s", kind, value["name"]))
		}
		for _, element := range value {
			found = append(found, references(element)...)
		}
	}
	return found
}
