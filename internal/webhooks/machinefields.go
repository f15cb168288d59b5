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

package webhooks

import (
	"cmp"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/script"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// validateMounts checks extraMounts together with devices that are given by a path, which
// are mounts as well.
func validateMounts(path *field.Path, spec *infrav1.ContainerMachineCommonSpec) field.ErrorList {
	type sides struct{ host, container *field.Path }
	var mounts []node.Mount
	var fields []sides
	for i, mount := range spec.ExtraMounts {
		at := path.Child("extraMounts").Index(i)
		mounts = append(mounts, node.Mount{
			HostPath: mount.HostPath, ContainerPath: mount.ContainerPath, ReadOnly: ptr.Deref(mount.ReadOnly, false),
		})
		fields = append(fields, sides{at.Child("hostPath"), at.Child("containerPath")})
	}
	for i, device := range spec.Devices {
		if device.Path == "" {
			continue
		}
		at := path.Child("devices").Index(i)
		mounts = append(mounts, node.Mount{HostPath: device.Path, ContainerPath: cmp.Or(device.ContainerPath, device.Path)})
		given := sides{container: at.Child("path")}
		if device.ContainerPath != "" {
			given = sides{at.Child("path"), at.Child("containerPath")}
		}
		fields = append(fields, given)
	}
	var errs field.ErrorList
	for _, refused := range node.CheckMounts(mounts, script.Paths()) {
		at := fields[refused.Index].container
		if refused.OfHost {
			at = fields[refused.Index].host
		}
		if at != nil { // A path that is both is refused once.
			errs = append(errs, field.Invalid(at, refused.Path, refused.Reason+"; "+refused.Remedy))
		}
	}
	return errs
}

func validateEnvironment(path *field.Path, environment []infrav1.EnvironmentVariable) field.ErrorList {
	var errs field.ErrorList
	for i, variable := range environment {
		if reason, remedy := node.CheckVariable(variable.Name, variable.Value); reason != "" {
			// The value may have a password.
			errs = append(errs, field.Invalid(path.Index(i), variable.Name, reason+"; "+remedy))
		}
	}
	return errs
}

func validateLabels(path *field.Path, labels map[string]string) field.ErrorList {
	var errs field.ErrorList
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		switch {
		case key == "" || strings.Contains(key, "="):
			errs = append(errs, field.Invalid(path, key, "is not a valid label key; use for example example.com/team"))
		case identity.IsReserved(key):
			errs = append(errs, field.Invalid(path, key, "has a prefix that is reserved for this provider; use another prefix"))
		}
	}
	return errs
}

// validateDevices: whether the host has a device is the engine's to know.
func validateDevices(path *field.Path, devices []infrav1.Device) field.ErrorList {
	var errs field.ErrorList
	names := map[string]bool{}
	for i, device := range devices {
		at := path.Index(i)
		switch {
		case device.Path == "" && device.Name == "":
			errs = append(errs, field.Required(at.Child("path"), "set the path of the device on the engine's host, or the name of a CDI device"))
		case device.Path != "" && device.Name != "":
			errs = append(errs, field.Invalid(at.Child("name"), device.Name, "must not be set together with path; use one device for each"))
		case device.Name != "" && device.ContainerPath != "":
			errs = append(errs, field.Invalid(at.Child("containerPath"), device.ContainerPath, "is decided by the CDI specification; remove it"))
		case names[device.Name]:
			errs = append(errs, field.Invalid(at.Child("name"), device.Name, "is a duplicate; remove it"))
		}
		names[device.Name] = device.Name != ""
	}
	return errs
}

func validateDNSSearch(path *field.Path, domains []string) field.ErrorList {
	if at := slices.Index(domains, "."); at >= 0 && len(domains) > 1 {
		return field.ErrorList{field.Invalid(path.Index(at), domains[at], "means no domain; remove it, or the others")}
	}
	return nil
}

// validateHostAddress of a port that is published.
func validateHostAddress(path *field.Path, address string) field.ErrorList {
	const remedy = "; use 127.0.0.1, or 0.0.0.0 for all addresses of the engine's host"
	parsed, err := netip.ParseAddr(cmp.Or(address, infrav1.DefaultPortAddress))
	switch {
	case err != nil:
		return field.ErrorList{field.Invalid(path, address, "is not an IP address"+remedy)}
	case parsed.Is4In6(), parsed.Zone() != "", parsed.IsMulticast(), parsed.IsLinkLocalUnicast():
		return field.ErrorList{field.Invalid(path, address, "is not a unicast address that all clients have a route to"+remedy)}
	}
	return nil
}

// validatePorts: whether a host port is free is the controller's to know.
func validatePorts(path *field.Path, mappings []infrav1.PortMapping) field.ErrorList {
	var errs field.ErrorList
	type port struct {
		number   int32
		protocol infrav1.PortProtocol
	}
	used := map[port]bool{}
	for i, mapping := range mappings {
		errs = append(errs, validateHostAddress(path.Index(i).Child("address"), mapping.Address)...)
		if mapping.HostPort == 0 {
			continue
		}
		one := port{mapping.HostPort, cmp.Or(mapping.Protocol, infrav1.PortProtocolTCP)}
		if used[one] {
			errs = append(errs, field.Invalid(path.Index(i).Child("hostPort"), mapping.HostPort, "is a duplicate; use another port"))
		}
		used[one] = true
	}
	return errs
}

func validateRoleResources(path *field.Path, given infrav1.RoleResources) field.ErrorList {
	return append(validateResources(path.Child("controlPlane"), given.ControlPlane), validateResources(path.Child("workers"), given.Workers)...)
}

// validateResources: what the host has is the controller's to know.
func validateResources(path *field.Path, given infrav1.MachineResources) field.ErrorList {
	limits, values := node.Resources{}, map[string]string{}
	if given.CPU != nil {
		limits.MilliCPU, values["cpu"] = max(given.CPU.MilliValue(), 1), given.CPU.String()
	}
	if given.Memory != nil {
		limits.MemoryBytes, values["memory"] = max(given.Memory.Value(), 1), given.Memory.String()
	}
	var errs field.ErrorList
	for _, refused := range node.CheckResources(limits, node.Host{}) {
		errs = append(errs, field.Invalid(path.Child(refused.Field), values[refused.Field], refused.Reason+"; "+refused.Remedy))
	}
	return errs
}
