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

package inputs

const (
	cluster         = "ContainerCluster"
	clusterTemplate = "ContainerClusterTemplate"
	machine         = "ContainerMachine"
	machineTemplate = "ContainerMachineTemplate"
	pool            = "ContainerMachinePool"
	poolTemplate    = "ContainerMachinePoolTemplate"
	containerEngine = "ContainerEngine"

	noNetwork   = "is a predefined network of the engine, without static addresses; use another network; it is created if it does not exist"
	noImage     = "is not a valid image reference; use NAME:TAG or NAME@DIGEST, in lower case"
	noHost      = "is neither an IP address nor a lower case DNS name; use for example 172.30.0.5 or api.example.com"
	noPlainIP   = "has a zone, or is an IPv4 address in the form of IPv6; use an IPv4 or IPv6 address without a zone, or a DNS name"
	notOnlyHost = "is not a host; use an address or DNS name without scheme and port, and set the port in its own field"
	nowhere     = "is not reachable from nodes; use an address or DNS name by which all nodes reach the API servers"
	noBalancer  = "must not be set if the type is None; remove it, or use the type HAProxy"
	noPorts     = "must be the first and the last port, such as 20000-29999, from 1024 to 65535"
	otherPart   = "must be set together with the other field of the endpoint if spec.loadBalancer.type is None"
	noLabel     = "is not a valid value of the zone label of Nodes; use at most 63 letters, digits, dashes, underscores and dots, beginning and ending with a letter or digit"
	ownPath     = "use another path, such as /mnt/data"
	noTimeout   = "must be greater than 0; omit it, or use a duration such as 10m"
	recorded    = "is reserved for the controller; remove it, and set the value in the MachinePool"
	noProvider  = "provider ID must be container:///<container name>; omit it, unless it is the provider ID of a container to adopt"
)

// Bad is all input that is refused.
func Bad() map[string]Input {
	all := map[string]Input{}
	for _, table := range []map[string]Input{badNetworks(), badEndpoints(), badClusters(), badMachines(), badMounts(), badTemplates(), badPools(), badEngines()} {
		for name, input := range table {
			all[name] = input
		}
	}
	return all
}

func badNetworks() map[string]Input {
	const name, subnet = "spec.network.name", "spec.network.subnet"
	return map[string]Input{
		"NetworkHost":      {"The node would have the host's own network.", cluster, `spec: {network: {name: host}}`, name, noNetwork},
		"NetworkNone":      {"Nothing could be reached.", cluster, `spec: {network: {name: none}}`, name, noNetwork},
		"NetworkBridge":    {"Docker's own takes no static addresses.", cluster, `spec: {network: {name: bridge}}`, name, noNetwork},
		"NetworkPodman":    {"Podman's own takes no static addresses.", cluster, `spec: {network: {name: podman}}`, name, noNetwork},
		"NetworkDefault":   {"It is another word for the engine's own.", cluster, `spec: {network: {name: default}}`, name, noNetwork},
		"NetworkContainer": {"It is a mode, not a network.", cluster, `spec: {network: {name: container}}`, name, noNetwork},

		"SubnetNoPrefix": {"An address is no subnet.", cluster, `spec: {network: {subnet: 172.30.0.0}}`, subnet,
			"is not in CIDR notation; use for example 172.30.0.0/16 or fd00:30::/64"},
		"SubnetHostBits": {"Engines refuse it, each with words of its own.", cluster, `spec: {network: {subnet: 172.30.0.1/16}}`, subnet,
			"has host bits set; use 172.30.0.0/16"},
		"SubnetHostBitsIPv6": {"The same in IPv6.", cluster, `spec: {network: {subnet: "fd00:30::1/64"}}`, subnet,
			"has host bits set; use fd00:30::/64"},
		"SubnetTooSmall": {"Network, gateway and broadcast leave one address.", cluster, `spec: {network: {subnet: 172.30.0.0/30}}`, subnet,
			"is too small for a load balancer and a machine; use a larger range, at least a /29"},
		"SubnetTooSmallIPv6": {"The same in IPv6.", cluster, `spec: {network: {subnet: "fd00:30::/126"}}`, subnet,
			"is too small for a load balancer and a machine; use a larger range, at least a /125"},
		"SubnetsOfOneFamily": {"A network has one of each.", cluster, `spec: {network: {subnet: "10.1.0.0/16,10.2.0.0/16"}}`, subnet,
			"10.2.0.0/16 is of the same family as 10.1.0.0/16; use at most one subnet of each family"},
		"SecondSubnet": {"Each is checked.", cluster, `spec: {network: {subnet: "10.1.0.0/16,fd00::1/64"}}`, subnet,
			"fd00::1/64 has host bits set; use fd00::/64"},
		"SubnetLoopback": {"It never leaves a container.", cluster, `spec: {network: {subnet: 127.0.0.0/8}}`, subnet,
			"is not a usable unicast range; use a private range, such as 172.30.0.0/16 or fd00:30::/64"},
		"SubnetMulticast": {"It is not one container's.", cluster, `spec: {network: {subnet: 224.0.0.0/16}}`, subnet,
			"is not a usable unicast range; use a private range, such as 172.30.0.0/16 or fd00:30::/64"},
		"SubnetEverything": {"Nothing else could be reached.", cluster, `spec: {network: {subnet: 0.0.0.0/0}}`, subnet,
			"is not a usable unicast range; use a private range, such as 172.30.0.0/16 or fd00:30::/64"},
	}
}

func badEndpoints() map[string]Input {
	const host, port = "spec.controlPlaneEndpoint.host", "spec.controlPlaneEndpoint.port"
	return map[string]Input{
		"HostUpperCase":  {"kubeadm takes DNS names in lower case only.", cluster, `spec: {controlPlaneEndpoint: {host: API.example.com}}`, host, noHost},
		"HostWithPort":   {"The port has a field of its own.", cluster, `spec: {controlPlaneEndpoint: {host: "api.example.com:6443"}}`, host, notOnlyHost},
		"HostURL":        {"A host is no URL.", cluster, `spec: {controlPlaneEndpoint: {host: "https://api.example.com"}}`, host, notOnlyHost},
		"HostBrackets":   {"Brackets belong to URLs.", cluster, `spec: {controlPlaneEndpoint: {host: "[fd00::5]"}}`, host, notOnlyHost},
		"HostLoopback":   {"Each node would ask itself.", cluster, `spec: {controlPlaneEndpoint: {host: 127.0.0.1}}`, host, nowhere},
		"HostLocalhost":  {"Each node would ask itself.", cluster, `spec: {controlPlaneEndpoint: {host: localhost}}`, host, nowhere},
		"HostAny":        {"It is an address to listen on, not one to reach.", cluster, `spec: {controlPlaneEndpoint: {host: "::"}}`, host, nowhere},
		"HostIPv6Zone":   {"It is the name of an interface of one host.", cluster, `spec: {controlPlaneEndpoint: {host: "fe80::1%eth0"}}`, host, noPlainIP},
		"HostIPv4Mapped": {"No certificate has it in this form.", cluster, `spec: {controlPlaneEndpoint: {host: "::ffff:172.30.0.5"}}`, host, noPlainIP},
		"HostIPv6OutsideSubnet": {"The engine would not start the load balancer.", cluster,
			`spec: {network: {subnet: "fd00:30::/64"}, controlPlaneEndpoint: {host: "fd00:31::5"}}`, host,
			"cannot be the address of the load balancer: subnet fd00:30::/64 does not contain fd00:31::5; use another address of the subnet, or omit it to have one allocated"},
		"HostNumeric": {"A resolver takes it for a malformed address.", cluster, `spec: {controlPlaneEndpoint: {host: 172.30.0.500}}`, host, noHost},
		"HostOutsideSubnet": {"The engine would not start the load balancer.", cluster,
			`spec: {network: {subnet: 172.30.0.0/16}, controlPlaneEndpoint: {host: 172.31.0.5}}`, host,
			"cannot be the address of the load balancer: subnet 172.30.0.0/16 does not contain 172.31.0.5; " +
				"use another address of the subnet, or omit it to have one allocated"},
		"HostIsNetwork": {"It is the network's own.", cluster,
			`spec: {network: {subnet: 172.30.0.0/16}, controlPlaneEndpoint: {host: 172.30.0.0}}`, host,
			"cannot be the address of the load balancer: subnet 172.30.0.0/16 reserves 172.30.0.0 as network or broadcast address; " +
				"use another address of the subnet, or omit it to have one allocated"},
		"PortOfStatus": {"haproxy would not start.", cluster, `spec: {controlPlaneEndpoint: {port: 8405}}`, port,
			"is reserved for the load balancer's status; use another port, such as 6443"},
		"NoneWithoutPort": {"The port of an external endpoint is not known here.", cluster,
			`spec: {loadBalancer: {type: None}, controlPlaneEndpoint: {host: api.example.com}}`, port, otherPart},
		"NoneWithoutHost": {"The host of an external endpoint is not known here.", cluster,
			`spec: {loadBalancer: {type: None}, controlPlaneEndpoint: {port: 6443}}`, host, otherPart},
	}
}

func badClusters() map[string]Input {
	const image = "spec.loadBalancer.image"
	return map[string]Input{
		"LoadBalancerImage":     {"No engine could pull it.", cluster, `spec: {loadBalancer: {image: "haproxy 3.2"}}`, image, noImage},
		"NoneWithImage":         {"It would not be used.", cluster, `spec: {loadBalancer: {type: None, image: "haproxy:3.2"}}`, image, noBalancer},
		"HostPortRangeReversed": {"It has no port.", cluster, `spec: {limits: {hostPortRange: 29999-20000}}`, "spec.limits.hostPortRange", noPorts},
		"HostPortRangePrivileged": {"Users of the workload cluster would get ports of the host's servers.", cluster,
			`spec: {limits: {hostPortRange: 0080-2000}}`, "spec.limits.hostPortRange", noPorts},
		"NoneWithPorts": {"Nothing would listen.", cluster, `spec: {loadBalancer: {type: None, additionalPorts: [9345]}}`,
			"spec.loadBalancer.additionalPorts", noBalancer},
		"AdditionalPortOfStatus": {"haproxy would not start.", cluster, `spec: {loadBalancer: {additionalPorts: [9345, 8405]}}`,
			"spec.loadBalancer.additionalPorts[1]", "is reserved for the load balancer's status; use another port"},
		"AdditionalPortOfEndpoint": {"haproxy would not start.", cluster, `spec: {controlPlaneEndpoint: {port: 443}, loadBalancer: {additionalPorts: [443]}}`,
			"spec.loadBalancer.additionalPorts[0]", "is the port of the control plane endpoint; remove it"},
		"AdditionalPortOfDefault": {"It is the endpoint's where none is given.", cluster, `spec: {loadBalancer: {additionalPorts: [6443]}}`,
			"spec.loadBalancer.additionalPorts[0]", "is the port of the control plane endpoint; remove it"},
		"HostAddress": {"No engine could listen there.", cluster, `spec: {loadBalancer: {hostAddress: localhost}}`, "spec.loadBalancer.hostAddress",
			"is not an IP address; use 127.0.0.1, or 0.0.0.0 for all addresses of the engine's host"},
		"HostAddressMulticast": {"No client reaches it.", cluster, `spec: {loadBalancer: {hostAddress: "ff02::1"}}`, "spec.loadBalancer.hostAddress",
			"is not a unicast address that all clients have a route to; use 127.0.0.1, or 0.0.0.0 for all addresses of the engine's host"},
		"HostAddressLinkLocal": {"It needs an interface.", cluster, `spec: {loadBalancer: {hostAddress: "fe80::1"}}`, "spec.loadBalancer.hostAddress",
			"is not a unicast address that all clients have a route to; use 127.0.0.1, or 0.0.0.0 for all addresses of the engine's host"},
		"MappedPortAddress": {"No engine could listen there.", cluster,
			`spec: {loadBalancer: {portMappings: [{containerPort: 80, hostPort: 8080, address: localhost}]}}`, "spec.loadBalancer.portMappings[0].address",
			"is not an IP address; use 127.0.0.1, or 0.0.0.0 for all addresses of the engine's host"},
		"MappedPortOfEndpoint": {"It is published as hostPort.", cluster,
			`spec: {loadBalancer: {portMappings: [{containerPort: 6443, hostPort: 8443}]}}`, "spec.loadBalancer.portMappings[0].containerPort",
			"is the port of the control plane endpoint; remove it"},
		"MappedPortTwice": {"The second could not be published.", cluster,
			`spec: {loadBalancer: {portMappings: [{containerPort: 80, hostPort: 8080}, {containerPort: 443, hostPort: 8080}]}}`,
			"spec.loadBalancer.portMappings[1].hostPort", "is a duplicate; use another port"},
		"MappedPortOfAPI": {"It leads to the API servers.", cluster,
			`spec: {loadBalancer: {hostPort: 8443, portMappings: [{containerPort: 443, hostPort: 8443}]}}`,
			"spec.loadBalancer.portMappings[0].hostPort", "is a duplicate; use another port"},
		"NoneWithMappedPorts": {"Nothing would listen.", cluster, `spec: {loadBalancer: {type: None, portMappings: [{containerPort: 80, hostPort: 8080}]}}`,
			"spec.loadBalancer.portMappings", noBalancer},
		"NoneWithHostAddress": {"It would lead nowhere.", cluster, `spec: {loadBalancer: {type: None, hostAddress: 0.0.0.0}}`, "spec.loadBalancer.hostAddress", noBalancer},
		"NoneWithHostPort":    {"It would lead nowhere.", cluster, `spec: {loadBalancer: {type: None, hostPort: 8443}}`, "spec.loadBalancer.hostPort", noBalancer},
		"RoleMemory":          {"A node cannot complete its bootstrap.", cluster, `spec: {resources: {workers: {memory: 100Mi}}}`, "spec.resources.workers.memory", "is less than a node requires; use at least 1Gi, or omit it"},
		"RegistryHost": {"containerd would never look at it.", cluster, `spec: {registries: [{host: "https://docker.io"}]}`, "spec.registries[0].host",
			`is not a registry host; use the host of image names, such as docker.io or registry.example.com:5000, without scheme and path`},
		"RegistryAlias": {"Image names have docker.io.", cluster, `spec: {registries: [{host: index.docker.io}]}`, "spec.registries[0].host", "is not a registry host; use the host of image names, such as docker.io or registry.example.com:5000, without scheme and path"},
		"MirrorURL": {"containerd would ignore all of the file.", cluster, `spec: {registries: [{host: docker.io, mirrors: [{url: "cache:5000"}]}]}`,
			"spec.registries[0].mirrors[0].url", "is not a valid registry URL; use http://HOST:PORT or https://HOST"},
		"MirrorPassword": {"A spec is no place for a secret.", cluster, `spec: {registries: [{host: docker.io, mirrors: [{url: "https://a:b@cache.example.com"}]}]}`,
			"spec.registries[0].mirrors[0].url", "contains credentials; move them to the Secret of credentialsSecretName"},
		"RegistryCA": {"Each pull would fail.", cluster, `spec: {registries: [{host: docker.io, caBundle: "no PEM"}]}`, "spec.registries[0].caBundle", "has no PEM certificate; use the PEM-encoded certificate of the CA, which begins with -----BEGIN CERTIFICATE-----"},
		"ImageByDigest": {"A copy has no digest.", cluster, `spec: {images: ["app@sha256:aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"]}`,
			"spec.images[0]", "has a digest, which is not preserved in nodes; use a tag"},
		"ImageForm":         {"No engine could have it.", cluster, `spec: {images: ["app dev"]}`, "spec.images[0]", noImage},
		"FailureDomainForm": {"A kubelet with such a label does not start.", cluster, `spec: {failureDomains: [{name: rack 1}]}`, "spec.failureDomains[0].name", noLabel},
		"FailureDomainLong": {"So is one that is too long for a label.", cluster,
			`spec: {failureDomains: [{name: a}, {name: aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa}]}`,
			"spec.failureDomains[1].name", noLabel},
	}
}

func badMachines() map[string]Input {
	const image, id, timeout = "spec.image", "spec.providerID", "spec.bootstrapTimeout"
	return map[string]Input{
		"Image":           {"Names are in lower case.", machine, `spec: {image: "kindest/Node:v1.36.3"}`, image, noImage},
		"ImageTag":        {"There are two tags.", machine, `spec: {image: "kindest/node:v1:36"}`, image, noImage},
		"ImageDigest":     {"A digest has 64 digits.", machine, `spec: {image: "kindest/node@sha256:abc"}`, image, noImage},
		"ImageURL":        {"A reference has no scheme.", machine, `spec: {image: "https://example.com/node:v1"}`, image, noImage},
		"ProviderIDOther": {"It is another provider's.", machine, `spec: {providerID: "docker:////demo"}`, id, noProvider},
		"ProviderIDEmpty": {"It names no container.", machine, `spec: {providerID: "container:///"}`, id, noProvider},
		"ProviderIDPath":  {"No container has such a name.", machine, `spec: {providerID: "container:///a/b"}`, id, noProvider},
		"RecreatingFirst": {"Nothing of the machine was removed.", machine, `spec: {bootstrap: {recreating: true}}`, "spec.bootstrap.recreating",
			"requires the attempt that the container is recreated for; omit it, the provider sets it"},
		"TimeoutZero": {"Every bootstrap would take too long.", machine, `spec: {bootstrapTimeout: 0s}`, timeout, noTimeout},
		"ResourcesCPU": {"The bootstrap would not end.", machine, `spec: {resources: {cpu: 100m}}`, "spec.resources.cpu",
			"is less than a node requires; use at least 750m, or omit it"},
		"ResourcesMemory": {"The kernel would kill etcd or the API server.", machine, `spec: {resources: {memory: 512M}}`, "spec.resources.memory",
			"is less than a node requires; use at least 1Gi, or omit it"},
		"PortAddress": {"No engine could listen there.", machine, `spec: {portMappings: [{containerPort: 80, address: localhost}]}`,
			"spec.portMappings[0].address", "is not an IP address; use 127.0.0.1, or 0.0.0.0 for all addresses of the engine's host"},
		"PortTwice": {"The container would not start.", machine,
			`spec: {portMappings: [{containerPort: 80, hostPort: 8080}, {containerPort: 81, hostPort: 8080, protocol: TCP}]}`,
			"spec.portMappings[1].hostPort", "is a duplicate; use another port"},
		"SearchNoneAndOthers": {"A resolver has domains or none.", machine, `spec: {dnsSearch: [".", corp.example.com]}`, "spec.dnsSearch[0]",
			"means no domain; remove it, or the others"},
		"VariableContainer": {"systemd would take the node for a machine.", machine, `spec: {environment: [{name: container, value: podman}]}`,
			"spec.environment[0]", "is reserved for systemd, which detects containers by it; remove it"},
		"VariableQuote": {"systemd would ignore all proxies.", machine, `spec: {environment: [{name: NO_PROXY, value: 'a"b'}]}`,
			"spec.environment[0]", "has a quote, a backslash or a control character, which breaks systemd's configuration; percent-encode these characters"},
		"LabelReserved": {"The provider would take the container for another one.", machine,
			`spec: {labels: {container.infrastructure.cluster.x-k8s.io/machine: a}}`, "spec.labels",
			"has a prefix that is reserved for this provider; use another prefix"},
		"LabelKind": {"kind's tools would take it for a node of another cluster.", machine, `spec: {labels: {io.x-k8s.kind.cluster: a}}`, "spec.labels",
			"has a prefix that is reserved for this provider; use another prefix"},
		"LabelForm": {"An engine could not select by it.", machine, `spec: {labels: {"a=b": c}}`, "spec.labels",
			"is not a valid label key; use for example example.com/team"},
		"DeviceEmpty": {"It names no device.", machine, `spec: {devices: [{containerPath: /dev/a}]}`, "spec.devices[0].path",
			"set the path of the device on the engine's host, or the name of a CDI device"},
		"DeviceBoth": {"They are two devices.", machine, `spec: {devices: [{path: /dev/fuse, name: vendor.com/class=name}]}`, "spec.devices[0].name",
			"must not be set together with path; use one device for each"},
		"DevicePlace": {"The specification of the device says where it is.", machine,
			`spec: {devices: [{name: vendor.com/class=name, containerPath: /dev/a}]}`, "spec.devices[0].containerPath",
			"is decided by the CDI specification; remove it"},
		"DeviceTwice": {"The second one adds nothing.", machine,
			`spec: {devices: [{name: vendor.com/class=name}, {name: vendor.com/class=name}]}`, "spec.devices[1].name", "is a duplicate; remove it"},
		"DeviceMounted": {"One would hide the other.", machine,
			`spec: {extraMounts: [{hostPath: /dev/null, containerPath: /dev/fuse}], devices: [{path: /dev/fuse}]}`, "spec.devices[0].path",
			"is also the path of mount 0; use another path for one of them"},
		"DeviceUnclean": {"Engines clean paths in ways of their own.", machine, `spec: {devices: [{path: /dev/../etc}]}`, "spec.devices[0].path",
			"is not a clean path; use /etc"},
		"TimeoutNegative": {"It would have been over before it began.", machine, `spec: {bootstrapTimeout: -5m}`, timeout, noTimeout},
	}
}

func badMounts() map[string]Input {
	const (
		first  = "spec.extraMounts[0].containerPath"
		second = "spec.extraMounts[1].containerPath"
		host   = "spec.extraMounts[0].hostPath"
	)
	at := func(path string) string {
		return `spec: {extraMounts: [{hostPath: /srv, containerPath: "` + path + `"}]}`
	}
	two := func(one, other string) string {
		return `spec: {extraMounts: [{hostPath: /a, containerPath: ` + one + `}, {hostPath: /b, containerPath: ` + other + `}]}`
	}
	const needed = "is used by the node: "
	return map[string]Input{
		"MountRelative": {"A node has no working directory.", machine, at("data"), first, "is not absolute; use a path that begins with a slash"},
		"MountRelativeHost": {"Engines take it for the name of a volume.", machine, `spec: {extraMounts: [{hostPath: data, containerPath: /data}]}`, host,
			"is not absolute; use a path that begins with a slash"},
		"MountUnclean": {"Engines clean it in ways of their own.", machine, at("/data/"), first, "is not a clean path; use /data"},
		"MountDots":    {"It is /var in other words.", machine, at("/data/../var"), first, "is not a clean path; use /var"},
		"MountDotsHost": {"It is /etc in other words.", machine, `spec: {extraMounts: [{hostPath: /srv/../etc, containerPath: /data}]}`, host,
			"is not a clean path; use /etc"},
		"MountTwice": {"One would hide the other.", machine, two("/data", "/data"), second, "is also the path of mount 0; use another path for one of them"},
		"MountWithin": {"Which comes first is the engine's to decide.", machine, two("/data", "/data/logs"), second,
			"overlaps /data of mount 0; use paths that do not contain each other"},
		"MountRoot":    {"It would hide everything.", machine, at("//"), first, "is not a clean path; use /"},
		"MountVar":     {"Each node has a volume there.", machine, at("/var"), first, needed + "it is a volume of the node; " + ownPath},
		"MountRun":     {"It must be empty at each start.", machine, at("/run"), first, needed + "it is a tmpfs, empty after each start; " + ownPath},
		"MountTmp":     {"It must be empty at each start.", machine, at("/tmp"), first, needed + "it is a tmpfs, empty after each start; " + ownPath},
		"MountModules": {"The engine would refuse a second mount there.", machine, at("/lib/modules"), first, needed + "the provider mounts that of the host; " + ownPath},
		"MountCgroup":  {"The kubelet could not bound anything.", machine, at("/sys/fs/cgroup"), first, needed + "systemd and the kubelet manage it; " + ownPath},
		"MountDev": {"There would be no devices.", machine, at("/dev"), first,
			"would hide /dev/mapper, which the node uses: the provider mounts that of the host if required; " + ownPath},
		"MountUsr":  {"There would be no system.", machine, at("/usr/bin"), first, needed + "it belongs to the node's operating system; " + ownPath},
		"MountKind": {"The node image's entrypoint would find nothing of its own.", machine, at("/kind"), first, needed + "the node image's entrypoint keeps its files there; " + ownPath},
		"MountBootstrap": {"Secrets of the bootstrap would be on the host.", machine, at("/opt"), first,
			"would hide /opt/cluster-api-bootstrap, which the node uses: bootstrap files are there; " + ownPath},
		"MountRecord": {"One machine would take over what another recorded.", machine, at("/var/lib"), first,
			"would hide /var/lib/cluster-api-bootstrap, which the node uses: bootstrap files are there; " + ownPath},
		"MountKubeletFlags": {"The provider ID of one machine would be written for all.", machine, at("/etc/default/kubelet"), first,
			needed + "bootstrap files are there; " + ownPath},
		"MountBelowRecord": {"It would be in the way of the record.", machine, at("/var/lib/cluster-api-bootstrap/x"), first,
			"is below /var/lib/cluster-api-bootstrap, which the node uses: bootstrap files are there; " + ownPath},
	}
}

func badTemplates() map[string]Input {
	const spec = "spec.template.spec."
	return map[string]Input{
		"TemplateNetwork": {"What no cluster can have, no template can.", clusterTemplate,
			`spec: {template: {spec: {network: {name: host}}}}`, spec + "network.name", noNetwork},
		"TemplateNoneWithImage": {"It would not be used.", clusterTemplate,
			`spec: {template: {spec: {loadBalancer: {type: None, image: "haproxy:3.2"}}}}`, spec + "loadBalancer.image", noBalancer},
		"TemplateFailureDomain": {"What no cluster can have, no template can.", clusterTemplate,
			`spec: {template: {spec: {failureDomains: [{name: rack 1}]}}}`, spec + "failureDomains[0].name", noLabel},
		"TemplateClusterLabel": {"No cluster could be made from it.", clusterTemplate,
			`spec: {template: {metadata: {labels: {a: "not a label"}}, spec: {network: {name: a}}}}`, "spec.template.metadata.labels",
			"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
		"TemplateImage": {"What no machine can have, no template can.", machineTemplate,
			`spec: {template: {spec: {image: "a b"}}}`, spec + "image", noImage},
		"TemplateMount": {"What no machine can have, no template can.", machineTemplate,
			`spec: {template: {spec: {extraMounts: [{hostPath: /srv, containerPath: /tmp}]}}}`, spec + "extraMounts[0].containerPath",
			"is used by the node: it is a tmpfs, empty after each start; " + ownPath},
		"TemplateTimeout": {"What no machine can have, no template can.", machineTemplate,
			`spec: {template: {spec: {bootstrapTimeout: 0s}}}`, spec + "bootstrapTimeout", noTimeout},
		"TemplateMachineAnnotation": {"No machine could be made from it.", machineTemplate,
			`spec: {template: {metadata: {annotations: {"not a key": a}}}}`, "spec.template.metadata.annotations",
			"name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
	}
}

func badPools() map[string]Input {
	const (
		instances = "spec.template."
		ofPools   = "spec.template.spec.template."
		version   = "metadata.annotations[container.infrastructure.cluster.x-k8s.io/version]"
	)
	in := func(template string) string { return `spec: {template: ` + template + `}` }
	inTemplate := func(template string) string { return in(`{spec: {template: ` + template + `}}`) }
	const (
		image      = `{spec: {image: "a b"}}`
		mount      = `{spec: {extraMounts: [{hostPath: /srv, containerPath: /tmp}]}}`
		timeout    = `{spec: {bootstrapTimeout: 0s}}`
		annotation = `{metadata: {annotations: {container.infrastructure.cluster.x-k8s.io/version: v1.36.3}}}`
		noMount    = "is used by the node: it is a tmpfs, empty after each start; " + ownPath
	)
	return map[string]Input{
		"PoolImage":   {"What no machine can have, no instance can.", pool, in(image), instances + "spec.image", noImage},
		"PoolMount":   {"What no machine can have, no instance can.", pool, in(mount), instances + "spec.extraMounts[0].containerPath", noMount},
		"PoolTimeout": {"What no machine can have, no instance can.", pool, in(timeout), instances + "spec.bootstrapTimeout", noTimeout},
		"PoolLabel": {"No instance could be made from it.", pool, in(`{metadata: {labels: {"not a key": a}}}`), instances + "metadata.labels",
			"name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"},
		"PoolVersion": {"Instances would seem to be of a version that they are not.", pool, in(annotation), instances + version, recorded},
		"PoolProviderID": {"It is another provider's.", pool, `spec: {providerIDList: ["container:///a", "docker:////b"]}`, "spec.providerIDList[1]",
			"provider ID must be container:///<container name>; omit the list, which the controller sets"},
		"PoolTemplateImage":   {"What no pool can have, no template can.", poolTemplate, inTemplate(image), ofPools + "spec.image", noImage},
		"PoolTemplateMount":   {"What no pool can have, no template can.", poolTemplate, inTemplate(mount), ofPools + "spec.extraMounts[0].containerPath", noMount},
		"PoolTemplateTimeout": {"What no pool can have, no template can.", poolTemplate, inTemplate(timeout), ofPools + "spec.bootstrapTimeout", noTimeout},
		"PoolTemplateVersion": {"Instances would seem to be of a version that they are not.", poolTemplate, inTemplate(annotation), ofPools + version, recorded},
		"PoolTemplateLabel": {"No pool could be made from it.", poolTemplate,
			in(`{metadata: {labels: {a: "not a label"}}, spec: {template: {spec: {image: a}}}}`), "spec.template.metadata.labels",
			"a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
	}
}
