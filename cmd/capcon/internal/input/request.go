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
	"strconv"
	"strings"
	"time"

	"github.com/distribution/reference"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/validation"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
)

// Bounds of what is asked for.
const (
	// MaxNameLength leaves room for what is appended to a cluster's name
	// (-control-plane-xxxxx) within the 63 characters of a host name.
	MaxNameLength = 40
	// MaxControlPlanes is what etcd recommends at most, with room.
	MaxControlPlanes = 9
	// MaxWorkers is far beyond what one host carries; it catches typing
	// errors.
	MaxWorkers = 250
)

// The values of CNI that are no file.
const (
	// CNIAuto takes the manifest that the node image brings along.
	CNIAuto = "auto"
	// CNIFlannel takes the manifest that this program brings along.
	CNIFlannel = "flannel"
	// CNINone leaves the cluster's network to the user.
	CNINone = "none"
)

// None as the value of a limit removes it.
const None = "none"

// Request is what a user asks of a cluster. A nil or empty field was not
// given: an existing cluster keeps what it has, a new one gets the default.
type Request struct {
	Name              string
	ControlPlanes     *int
	Workers           *int
	KubernetesVersion string
	// typed is how the user spelled KubernetesVersion, for messages.
	typed             string
	Image             string
	LoadBalancerImage string
	PlaneImage        string
	// FeatureGates of Cluster API in the management plane, "A=true,B=false".
	FeatureGates string
	// InMemory: clusters of the management plane are in memory; nil = as it has them.
	InMemory *bool
	// Registry prefixes the public names of images, "127.0.0.1:5000".
	Registry string
	// CNI is one of the constants or the path of a manifest.
	CNI string
	// EngineName of the ContainerEngine that the cluster is on.
	EngineName string
	// EngineNames of the ContainerEngines of a cluster over several.
	EngineNames []string
	// Network of the engine.
	Network string
	// IPFamily of nodes, Pods and Services, one of the constants.
	IPFamily string
	// PodCIDR and ServiceCIDR are address ranges within the cluster, at most one of each family
	// in a comma-separated list. The first decides the primary family.
	PodCIDR, ServiceCIDR string
	// CPUs and Memory limit each node, as quantities, or None.
	CPUs, Memory string
	// Topology is what a file (-f) has in addition to the fields above, with all worker
	// machines; nil without a file.
	Topology *clusterv1.Topology
	// ServiceDomain of a file.
	ServiceDomain string
	// Yes says that the user agrees to what is deleted and lost by the request.
	Yes bool
	// DryRun asks for the plan only, in the format of Output.
	DryRun bool
	Output string
	// Timeout bounds the waiting.
	Timeout time.Duration
	// Trace is the path of a file that gets a trace; empty = none.
	Trace string
}

// Normalize returns the request with equal spellings made the same.
func (r Request) Normalize() Request {
	r.typed = r.KubernetesVersion
	if r.KubernetesVersion != "" && !strings.HasPrefix(r.KubernetesVersion, "v") {
		r.KubernetesVersion = "v" + r.KubernetesVersion
	}
	return r
}

// Validate returns an *Error with everything that is wrong, or nil.
func (r Request) Validate() error {
	return Refuse(slices.Concat(
		CheckName(r.Name),
		checkControlPlanes(r.ControlPlanes),
		checkWorkers(r.Workers),
		checkKubernetesVersion(r.KubernetesVersion, r.typed),
		checkImage("--image", r.Image),
		checkImage("--load-balancer-image", r.LoadBalancerImage),
		checkImage("--plane-image", r.PlaneImage),
		checkRegistry(r.Registry),
		checkCNI(r.CNI),
		checkEngineName(r.EngineName),
		checkEngines(r.EngineNames, r.EngineName, r.Network),
		checkNetwork(r.Network),
		checkCIDRs(r.IPFamily, r.PodCIDR, r.ServiceCIDR),
		checkQuantity("--cpus", r.CPUs, "use a number of CPUs, such as 2 or 1500m, or none"),
		checkQuantity("--memory", r.Memory, "use an amount of memory, such as 4Gi, or none"),
		CheckTimeout(r.Timeout),
	)...)
}

// ValidatePlane is Validate of what starts the management plane alone.
func (r Request) ValidatePlane() error {
	return Refuse(slices.Concat(checkImage("--plane-image", r.PlaneImage), checkFeatureGates(r.FeatureGates), checkRegistry(r.Registry), CheckTimeout(r.Timeout))...)
}

// CheckName checks the name of a cluster.
func CheckName(name string) []Problem {
	const remedy = "use at most 40 lower case letters, digits and dashes, beginning with a letter, such as \"demo\""
	switch {
	case name == "":
		return []Problem{{"NAME", name, "must not be empty", remedy}}
	case len(validation.IsDNS1035Label(name)) > 0:
		return []Problem{{"NAME", name, "not a valid DNS label", remedy}}
	case len(name) > MaxNameLength:
		return []Problem{{"NAME", name, fmt.Sprintf("has %d characters", len(name)), remedy}}
	}
	return nil
}

func checkControlPlanes(count *int) []Problem {
	if count == nil {
		return nil
	}
	var reason string
	switch n := *count; {
	case n < 1:
		reason = "must be at least 1"
	case n > MaxControlPlanes:
		reason = "more than 5 etcd members slow down writes"
	case n%2 == 0:
		reason = "an even number of etcd members tolerates no additional failure"
	default:
		return nil
	}
	return []Problem{{"--control-planes", strconv.Itoa(*count), reason, "use an odd number, such as 1, 3 or 5"}}
}

func checkWorkers(count *int) []Problem {
	switch {
	case count == nil, *count >= 0 && *count <= MaxWorkers:
		return nil
	case *count < 0:
		return []Problem{{"--workers", strconv.Itoa(*count), "must not be negative", "use 0 or more"}}
	}
	return []Problem{{"--workers", strconv.Itoa(*count), "too many nodes for one host",
		fmt.Sprintf("use at most %d", MaxWorkers)}}
}

func checkImage(flag, image string) []Problem {
	if image == "" {
		return nil
	}
	if _, err := reference.ParseNormalizedNamed(image); err != nil {
		return []Problem{{flag, image, "invalid image reference", "use NAME:TAG or NAME@DIGEST, in lower case"}}
	}
	return nil
}

// checkQuantity: whether a node can do with so much is known by the webhooks.
func checkQuantity(flag, value, remedy string) []Problem {
	if value == "" || value == None {
		return nil
	}
	if _, err := resource.ParseQuantity(value); err != nil {
		return []Problem{{flag, value, "invalid quantity", remedy}}
	}
	return nil
}

// CheckTimeout checks how long to wait; 0 = no limit.
func CheckTimeout(timeout time.Duration) []Problem {
	return CheckNotNegative("--timeout", timeout, "use a duration such as 10m, or 0 for no limit")
}
