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

package main

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"path/filepath"
	"strings"

	"github.com/flannel-io/flannel/pkg/backend"
	"github.com/flannel-io/flannel/pkg/subnet"
)

// confFile sorts first among CNI configurations and has the name flannel's own
// manifest uses, so that a later installation of stock flannel replaces it.
const confFile = "10-flannel.conflist"

// podNetworks are the Pod CIDRs of a cluster; a family without one is zero.
type podNetworks struct {
	ipv4, ipv6 netip.Prefix
}

func parsePodSubnets(text string) (podNetworks, error) {
	var networks podNetworks
	for _, part := range strings.Split(text, ",") {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(part))
		if err != nil {
			return podNetworks{}, fmt.Errorf("parse Pod subnets %q: %w", text, err)
		}
		family := &networks.ipv6
		if prefix.Addr().Is4() {
			family = &networks.ipv4
		}
		if family.IsValid() {
			return podNetworks{}, fmt.Errorf("parse Pod subnets %q: two of one IP family", text)
		}
		*family = prefix.Masked()
	}
	return networks, nil
}

// netConf is the configuration file that flannel's subnet manager reads.
func (n podNetworks) netConf() ([]byte, error) {
	conf := map[string]any{
		"EnableIPv4": n.ipv4.IsValid(),
		"EnableIPv6": n.ipv6.IsValid(),
		"Backend":    map[string]string{"Type": backendVXLAN},
	}
	if n.ipv4.IsValid() {
		conf["Network"] = n.ipv4.String()
	}
	if n.ipv6.IsValid() {
		conf["IPv6Network"] = n.ipv6.String()
	}
	return json.Marshal(conf)
}

// writeCNIConfig puts the configuration in place in one step: the container
// runtime watches the directory.
func writeCNIConfig(directory string, config *subnet.Config, network backend.Network) error {
	var subnets []string
	if config.EnableIPv4 {
		subnets = append(subnets, network.Lease().Subnet.String())
	}
	if config.EnableIPv6 {
		subnets = append(subnets, network.Lease().IPv6Subnet.String())
	}
	conf, err := cniConfig(subnets, network.MTU())
	if err != nil {
		return err
	}
	if err := os.MkdirAll(directory, 0o755); err != nil {
		return fmt.Errorf("create CNI configuration directory: %w", err)
	}
	temporary := filepath.Join(directory, "."+confFile)
	if err := os.WriteFile(temporary, conf, 0o644); err != nil {
		return fmt.Errorf("write CNI configuration: %w", err)
	}
	if err := os.Rename(temporary, filepath.Join(directory, confFile)); err != nil {
		return fmt.Errorf("put CNI configuration in place: %w", err)
	}
	return nil
}

// cniConfig connects each Pod by a veth pair that the node routes to (ptp). A
// bridge would need its plugin, which the stock node image lacks, and the
// host's br_netfilter module for Services between Pods of one node.
func cniConfig(subnets []string, mtu int) ([]byte, error) {
	ranges := make([][]map[string]string, 0, len(subnets))
	routes := make([]map[string]string, 0, len(subnets))
	for _, text := range subnets {
		prefix, err := netip.ParsePrefix(text)
		if err != nil {
			return nil, fmt.Errorf("parse node subnet %q: %w", text, err)
		}
		ranges = append(ranges, []map[string]string{{"subnet": prefix.String()}})
		destination := "::/0"
		if prefix.Addr().Is4() {
			destination = "0.0.0.0/0"
		}
		routes = append(routes, map[string]string{"dst": destination})
	}
	conf := map[string]any{
		"name":       "cbr0",
		"cniVersion": "1.0.0",
		"plugins": []any{
			map[string]any{
				"type": "ptp",
				"mtu":  mtu,
				"ipam": map[string]any{
					"type": "host-local",
					// On tmpfs: addresses of Pods that a reboot ended are free again.
					"dataDir": "/run/cni-ipam-state",
					"ranges":  ranges,
					"routes":  routes,
				},
			},
			map[string]any{"type": "portmap", "capabilities": map[string]bool{"portMappings": true}},
		},
	}
	return json.MarshalIndent(conf, "", "  ")
}
