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

package haproxy_test

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
)

// The configuration is a function of its backends: rendered again, it is the same text.
func ExampleRender() {
	config := haproxy.Config{Frontends: []haproxy.Frontend{haproxy.ControlPlane(6443, []haproxy.Backend{
		{Name: "control-plane-1", Address: netip.MustParseAddr("10.7.0.2"), Port: 6443, Weight: haproxy.FullWeight},
	})}}
	text, err := haproxy.Render(config)
	fmt.Println(strings.Contains(text, "10.7.0.2:6443"), err)

	config.Frontends[0].Backends[0].Name = "two\nlines"
	_, err = haproxy.Render(config)
	fmt.Println(errors.As(err, new(*haproxy.InvalidError)))
	// Output:
	// true <nil>
	// true
}
