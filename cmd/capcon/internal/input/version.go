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
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/version"
)

// KnownKubernetes are the Kubernetes versions this release was made for, the
// newest first: its minor versions are accepted in every patch.
//
//nolint:gochecknoglobals // a table
var KnownKubernetes = []string{"v1.36.3", "v1.35.4", "v1.34.4"}

// DefaultKubernetes is what a new cluster gets.
func DefaultKubernetes() string { return KnownKubernetes[0] }

func checkKubernetesVersion(given string) []Problem {
	if given == "" {
		return nil
	}
	remedy := "known are " + strings.Join(KnownKubernetes, ", ") + " and their other patch releases"
	parsed, err := version.ParseSemantic(given)
	if err != nil {
		return []Problem{{"--kubernetes-version", given, "it is not a version of the form v1.2.3", remedy}}
	}
	newest := version.MustParseSemantic(slices.MaxFunc(KnownKubernetes, compareVersions))
	oldest := version.MustParseSemantic(slices.MinFunc(KnownKubernetes, compareVersions))
	switch {
	case minor(parsed).LessThan(minor(oldest)):
		return []Problem{{"--kubernetes-version", given, fmt.Sprintf("it is older than v%d.%d", oldest.Major(), oldest.Minor()), remedy}}
	case minor(newest).LessThan(minor(parsed)):
		return []Problem{{"--kubernetes-version", given,
			"it is newer than this release of the provider knows", remedy + "; a newer release may know it"}}
	}
	return nil
}

// CheckUpgrade checks a change of an existing cluster's version.
func CheckUpgrade(present, wanted string) []Problem {
	if wanted == "" || wanted == present {
		return nil
	}
	from, err := version.ParseSemantic(present)
	if err != nil {
		return nil // the cluster's own version is not the user's input
	}
	to, err := version.ParseSemantic(wanted)
	if err != nil {
		return checkKubernetesVersion(wanted)
	}
	problem := Problem{Field: "--kubernetes-version", Value: wanted}
	switch {
	case to.LessThan(from):
		problem.Reason = "the cluster runs " + present + ", and Kubernetes has no way back"
		problem.Remedy = "leave the flag away, or make another cluster"
	case to.Minor() > from.Minor()+1:
		problem.Reason = "the cluster runs " + present + ", and Kubernetes upgrades one minor version at a time"
		problem.Remedy = fmt.Sprintf("go to v%d.%d first", from.Major(), from.Minor()+1)
	default:
		return nil
	}
	return []Problem{problem}
}

func minor(v *version.Version) *version.Version {
	return version.MustParseGeneric(fmt.Sprintf("%d.%d", v.Major(), v.Minor()))
}

func compareVersions(a, b string) int {
	comparison, err := version.MustParseSemantic(a).Compare(b)
	if err != nil {
		return strings.Compare(a, b)
	}
	return comparison
}
