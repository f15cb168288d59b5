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

package script

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

// kubeletFlag matches flags that mean the same in an environment file of systemd, with and without quotes.
var kubeletFlag = regexp.MustCompile(`^--[a-z0-9-]+(=[A-Za-z0-9_.:/,=<>%+@~-]*)?$`)

// kubeletFields are the fields of the kubelet's configuration that flags of a node would override. Where a flag holds a
// feature gate, its name is meant: the kubelet merges gates of flags and configuration, and no other map.
var kubeletFields = map[string]string{
	"cgroup-root":             "cgroupRoot",
	"eviction-hard":           "evictionHard",
	"fail-cgroupv1":           "failCgroupV1",
	"fail-swap-on":            "failSwapOn",
	"image-gc-high-threshold": "imageGCHighThresholdPercent",
	"provider-id":             "providerID",
	"system-reserved":         "systemReserved",
}

// kubeletSettings are lines of a flag and what the kubelet's configuration sets it by. What the configuration is, only the
// node knows: kubeadm downloads it from the cluster.
func kubeletSettings(flags []string) string {
	var settings []string
	for _, flag := range flags {
		name, key, _ := cutFlag(flag)
		field, exists := kubeletFields[name]
		if name == "feature-gates" {
			field, exists = key, true
		}
		if exists {
			settings = append(settings, flag+" "+field)
		}
	}
	return lines(settings)
}

// kubeletFlags returns the flags without those the user set in kubeadm's kubeletExtraArgs. The kubelet takes the last of
// equal flags, and KUBELET_EXTRA_ARGS come after kubeadm's.
func (in Input) kubeletFlags() ([]string, error) {
	arguments := in.Config.KubeletArguments()
	var flags []string
	for _, flag := range in.KubeletFlags {
		if !kubeletFlag.MatchString(flag) {
			return nil, fmt.Errorf("kubelet flag %q is not --name or --name=value without spaces and quotes", flag)
		}
		if !setByUser(flag, arguments) {
			flags = append(flags, flag)
		}
	}
	return flags, nil
}

// setByUser reports whether one of the arguments has the flag: the same key of a flag that holds a pair.
func setByUser(flag string, user []userdata.Argument) bool {
	name, key, isPair := cutFlag(flag)
	for _, arg := range user {
		// The kubelet takes an underscore for a dash.
		if strings.ReplaceAll(arg.Name, "_", "-") != name {
			continue
		}
		if !isPair {
			return true
		}
		for pair := range strings.SplitSeq(arg.Value, ",") {
			userKey, _, _ := strings.Cut(pair, "=")
			if strings.TrimSpace(userKey) == key {
				return true
			}
		}
	}
	return false
}

// cutFlag returns the name of a flag, and the key of one that holds a pair.
func cutFlag(flag string) (name, key string, isPair bool) {
	name, value, _ := strings.Cut(strings.TrimPrefix(flag, "--"), "=")
	key, _, isPair = strings.Cut(value, "=")
	return name, key, isPair
}

func lines(values []string) string {
	var out strings.Builder
	for _, value := range values {
		out.WriteString(value + "\n")
	}
	return out.String()
}
