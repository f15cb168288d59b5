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

package images

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/version"

	"github.com/capi-samples/cluster-api-provider-container/internal/release"
)

// PlaneSkew compares the release of a plane's image with that of this program.
type PlaneSkew struct {
	// Plane and Program are the releases, or "dev" where it is none. Plane is empty where
	// the image is of another origin.
	Plane, Program string
	// Order is negative where the plane's is the earlier release, positive where it is the
	// later one, and 0 where they are equal or cannot be compared.
	Order int
	// repository of the plane's image.
	repository string
}

// SkewOfPlane compares the image of a plane with that of this program.
func SkewOfPlane(image string) PlaneSkew { return skewOf(image, release.Tag()) }

func skewOf(image, program string) PlaneSkew {
	skew := PlaneSkew{Program: program}
	for _, repository := range []string{planeRepository, memoryPlaneRepository} {
		if tag, ours := strings.CutPrefix(image, repository); ours {
			skew.Plane, skew.repository = tag, repository
		}
	}
	if skew.Plane == "" {
		return skew
	}
	plane, planeErr := version.ParseSemantic(skew.Plane)
	own, ownErr := version.ParseSemantic(program)
	if planeErr == nil && ownErr == nil {
		skew.Order, _ = plane.Compare(own.String()) // which has been parsed
	}
	return skew
}

// String describes the skew and its remedy; empty where there is none to speak of.
func (s PlaneSkew) String() string {
	switch {
	case s.Order < 0:
		return "release " + s.Plane + " is earlier than that of capcon, " + s.Program + `; upgrade it with "capcon plane up"`
	case s.Order > 0:
		return "release " + s.Plane + " is later than that of capcon, " + s.Program + "; upgrade capcon"
	case s.Plane != "" && s.Plane != s.Program:
		return "release " + s.Plane + " differs from that of capcon, " + s.Program + `; replace it with "capcon plane up --plane-image ` + s.repository + s.Program + `"`
	}
	return ""
}
