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

package bootstrap_test

import (
	"fmt"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

// What a container cannot do is refused before it is created, without a quote of the data.
func ExampleParse() {
	config, err := bootstrap.Parse([]byte("#cloud-config\nruncmd: [kubeadm init]\n"), userdata.FormatCloudConfig, userdata.Instance{})
	fmt.Println(config.Commands[0].Shell, err)

	_, err = bootstrap.Parse([]byte("secret: value\n"), "shell", userdata.Instance{})
	fmt.Println(err)
	// Output:
	// kubeadm init <nil>
	// bootstrap data format "shell" is not supported; use cloud-config or ignition
}
