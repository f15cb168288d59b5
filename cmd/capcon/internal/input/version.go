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

package input

import (
	"cmp"
	"errors"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// DefaultKubernetes is what a new cluster gets.
func DefaultKubernetes() string { return node.DefaultVersion }

func checkKubernetesVersion(given, typed string) []Problem {
	if given == "" {
		return nil
	}
	problem := Problem{
		Field: "--kubernetes-version", Value: cmp.Or(typed, given),
		Remedy: "use one of " + strings.Join(node.KnownVersions(), ", ") + "; for another patch version, use --image",
	}
	_, malformed := version.ParseSemantic(given)
	_, err := node.Minor(given)
	var unknown *node.VersionError
	switch {
	case malformed != nil:
		problem.Reason = "not of the form v1.2.3"
	case errors.As(err, &unknown):
		problem.Reason = unknown.Problem
	default:
		return nil
	}
	return []Problem{problem}
}

// CheckUpgrade checks the request for another version of an existing cluster.
func (r Request) CheckUpgrade(present string) []Problem {
	wanted := r.KubernetesVersion
	if wanted == "" || wanted == present {
		return nil
	}
	from, err := version.ParseSemantic(present)
	if err != nil {
		return nil // the cluster's own version is not the user's input
	}
	to, err := version.ParseSemantic(wanted)
	if err != nil {
		return checkKubernetesVersion(wanted, r.typed)
	}
	problem := Problem{Field: "--kubernetes-version", Value: cmp.Or(r.typed, wanted)}
	switch {
	case to.LessThan(from):
		problem.Reason = "the cluster has " + present + ", and downgrades are not supported"
		problem.Remedy = "keep that, or create another cluster"
	case to.Minor() > from.Minor()+1:
		problem.Reason = "the cluster has " + present + ", and minor versions cannot be skipped"
		problem.Remedy = fmt.Sprintf("upgrade to v%d.%d first", from.Major(), from.Minor()+1)
	default:
		return nil
	}
	return []Problem{problem}
}
