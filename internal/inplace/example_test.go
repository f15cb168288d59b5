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

package inplace_test

import (
	"fmt"

	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/utils/ptr"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/inplace"
)

// A larger limit reaches a running machine. A smaller one, and an image, need another machine.
func ExampleAccept() {
	limits := func(cpu, memory string) infrav1.MachineResources {
		return infrav1.MachineResources{CPU: ptr.To(resource.MustParse(cpu)), Memory: ptr.To(resource.MustParse(memory))}
	}
	running := infrav1.ContainerMachineCommonSpec{Image: "node:v1", Resources: limits("1", "4Gi")}
	desired := infrav1.ContainerMachineCommonSpec{Image: "node:v2", Resources: limits("2", "2Gi")}
	inplace.Accept(&running, &desired)
	fmt.Println(running.Image, running.Resources.CPU, running.Resources.Memory)
	// Output: node:v1 2 4Gi
}
