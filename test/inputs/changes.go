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
	kubeconfigs = "kubeconfigs contain it; restore the value, or create another cluster"
	containers  = "containers of the cluster have addresses on this network; restore the value, or create another cluster"
	immutable   = "field is immutable; roll out a new template with this value"
	madeFrom    = "is immutable, because objects were created from the template; create a new template, and reference it"

	ownerID = "spec.ownerID"

	// updating is what Cluster API writes on a machine that it updates in place.
	updating = "metadata: {annotations: {in-place-updates.internal.cluster.x-k8s.io/update-in-progress: \"\"}}\n"

	// provisioned is a cluster as the controller leaves it.
	provisioned = `
spec:
  ownerID: abc
  controlPlaneEndpoint: {host: 172.30.0.2, port: 6443}
  network: {name: capcon}
  loadBalancer: {type: HAProxy, hostPort: 32768}
status: {initialization: {provisioned: true}}
`
)

// Changes are all kinds of changes, allowed and refused.
func Changes() map[string]Change {
	all := map[string]Change{}
	for _, table := range []map[string]Change{
		clusterGrows(), clusterStays(), clusterIsOwned(), machineChanges(), clusterTemplateChanges(), machineTemplateChanges(),
		poolChanges(), poolTemplateChanges(), engineChanges(),
	} {
		for name, change := range table {
			all[name] = change
		}
	}
	return all
}

// clusterGrows: what comes later than the cluster, and what may be another.
func clusterGrows() map[string]Change {
	return map[string]Change{
		"ControllerPublishes": {Reason: "The controller sets what it has chosen.", Kind: cluster,
			Before: `spec: {network: {name: capcon}, loadBalancer: {type: HAProxy}}`,
			After:  `spec: {network: {name: capcon}, loadBalancer: {type: HAProxy, hostPort: 32768}, controlPlaneEndpoint: {host: 172.18.0.2, port: 6443}}`},
		"EndpointOfControlPlane": {Reason: "A hosted control plane has its endpoint later.", Kind: cluster,
			Before: `spec: {loadBalancer: {type: None}}`,
			After:  `spec: {loadBalancer: {type: None}, controlPlaneEndpoint: {host: api.example.com, port: 443}}`},
		"EndpointPortLater": {Reason: "Who gives the host may leave the port to the controller.", Kind: cluster,
			Before: `spec: {controlPlaneEndpoint: {host: api.example.com}}`,
			After:  `spec: {controlPlaneEndpoint: {host: api.example.com, port: 6443}}`},
		"DefaultsComeLater": {Reason: "A cluster from before there were webhooks is filled in.", Kind: cluster,
			Before: `spec: {loadBalancer: {hostPort: 32768}}`,
			After:  `spec: {loadBalancer: {type: HAProxy, hostPort: 32768}, network: {name: capcon}}`},
		"LoadBalancerImage": {Reason: "The next load balancer is made from it.", Kind: cluster,
			Before: `spec: {loadBalancer: {image: "haproxy:3.0", hostPort: 32768}}`, After: `spec: {loadBalancer: {image: "haproxy:3.2", hostPort: 32768}}`},
		"AdditionalPorts": {Reason: "The load balancer is reloaded.", Kind: cluster,
			Before: `spec: {loadBalancer: {additionalPorts: [9345]}}`, After: `spec: {loadBalancer: {additionalPorts: [8132, 9345]}}`},
		"MappedPorts": {Reason: "The load balancer is recreated.", Kind: cluster,
			Before: `spec: {loadBalancer: {hostPort: 32768}}`,
			After:  `spec: {loadBalancer: {hostPort: 32768, portMappings: [{containerPort: 80, hostPort: 8080, address: 0.0.0.0}]}}`},
		"Storage": {Reason: "It can be replaced by another.", Kind: cluster,
			Before: `spec: {storage: {type: NodeLocal}}`, After: `spec: {storage: {type: None}}`},
		"StorageCluster": {Reason: "Nodes to come mount the volume.", Kind: cluster,
			Before: `spec: {storage: {type: NodeLocal}}`, After: `spec: {storage: {type: Cluster}}`},
		"ServiceLoadBalancer": {Reason: "It can be replaced by another.", Kind: cluster,
			Before: `spec: {serviceLoadBalancer: {type: None}}`, After: `spec: {serviceLoadBalancer: {type: HAProxy}}`},
		"Limits": {Reason: "They apply to what is created later.", Kind: cluster,
			Before: `spec: {limits: {persistentVolumes: 10}}`, After: `spec: {limits: {persistentVolumes: 0, loadBalancers: 0, hostPortRange: 20000-20099}}`},
		"Registries": {Reason: "containerd reads them with each pull.", Kind: cluster,
			Before: `spec: {registries: [{host: docker.io, mirrors: [{url: "http://172.30.0.5:5000"}]}]}`,
			After:  `spec: {registries: [{host: "*", mirrors: [{url: "https://cache.example.com"}]}]}`},
		"Images": {Reason: "Nodes get those they do not have.", Kind: cluster,
			Before: `spec: {images: ["app:dev"]}`, After: `spec: {images: ["app:dev", "tool:dev"]}`},
		"FailureDomains": {Reason: "Machines to come are spread over them.", Kind: cluster,
			Before: `spec: {failureDomains: [{name: a, controlPlane: true}]}`,
			After:  `spec: {failureDomains: [{name: b, controlPlane: true}, {name: c, controlPlane: false}]}`},
		"NetworkOfFamilies": {Reason: "The controller sets the one that the Cluster's IP families decide.", Kind: cluster,
			Before: `spec: {loadBalancer: {type: HAProxy}}`, After: `spec: {loadBalancer: {type: HAProxy}, network: {name: capcon-ipv6}}`},
		"NetworkBeforeItIsUsed": {Reason: "One that turned out to be unusable is exchanged.", Kind: cluster,
			Before: `spec: {network: {name: other, subnet: 10.0.0.0/24}}`, After: `spec: {network: {name: capcon}}`},
		"Labels": {Reason: "Cluster API writes them.", Kind: cluster,
			Before: provisioned, After: `
metadata: {labels: {a: b}, annotations: {c: d}}
spec: {ownerID: abc, controlPlaneEndpoint: {host: 172.30.0.2, port: 6443}, network: {name: capcon}, loadBalancer: {type: HAProxy, hostPort: 32768}}`},
		"ErrorBefore": {Reason: "Rules that came after an object do not lock it.", Kind: cluster, IsOlder: true,
			Before: `spec: {network: {name: host}, failureDomains: [{name: a b}]}`,
			After:  `spec: {network: {name: host}, failureDomains: [{name: a b}], controlPlaneEndpoint: {port: 6443}}`},
		"ErrorBehindErrorBefore": {Reason: "They count for everything else.", Kind: cluster, IsOlder: true,
			Before: `spec: {network: {name: host}}`,
			After:  `spec: {network: {name: host}, failureDomains: [{name: a b}]}`,
			Field:  "spec.failureDomains[0].name", Message: noLabel},
	}
}

// clusterStays: what machines, certificates and kubeconfigs rely on.
func clusterStays() map[string]Change {
	const host, port = "spec.controlPlaneEndpoint.host", "spec.controlPlaneEndpoint.port"
	with := func(endpoint, network, balancer string) string {
		return `
spec: {ownerID: abc, controlPlaneEndpoint: {` + endpoint + `}, network: {` + network + `}, loadBalancer: {` + balancer + `}}`
	}
	const endpoint, network, balancer = "host: 172.30.0.2, port: 6443", "name: capcon", "type: HAProxy, hostPort: 32768"
	return map[string]Change{
		"EndpointHost": {Reason: "Nodes and certificates have it.", Kind: cluster, Before: provisioned,
			After: with("host: 172.30.0.3, port: 6443", network, balancer),
			Field: host, Message: "is immutable once set (172.30.0.2): certificates and " + kubeconfigs},
		"EndpointHostGone": {Reason: "Another one would be chosen.", Kind: cluster, Before: provisioned,
			After: with("port: 6443", network, balancer),
			Field: host, Message: "is immutable once set (172.30.0.2): certificates and " + kubeconfigs},
		"EndpointPort": {Reason: "Nodes have it.", Kind: cluster, Before: provisioned,
			After: with("host: 172.30.0.2, port: 443", network, balancer),
			Field: port, Message: "is immutable once set (6443): " + kubeconfigs},
		"HostPort": {Reason: "Users have it.", Kind: cluster, Before: provisioned,
			After: with(endpoint, network, "type: HAProxy, hostPort: 8443"),
			Field: "spec.loadBalancer.hostPort", Message: "is immutable once set (32768): " + kubeconfigs},
		"HostPortGone": {Reason: "Another one would be chosen.", Kind: cluster, Before: provisioned,
			After: with(endpoint, network, "type: HAProxy"),
			Field: "spec.loadBalancer.hostPort", Message: "is immutable once set (32768): " + kubeconfigs},
		"HostAddress": {Reason: "Users have it.", Kind: cluster, Before: `spec: {loadBalancer: {hostPort: 32768, hostAddress: 0.0.0.0}}`,
			After: `spec: {loadBalancer: {hostPort: 32768, hostAddress: 127.0.0.1}}`,
			Field: "spec.loadBalancer.hostAddress", Message: "is immutable once set (0.0.0.0): " + kubeconfigs},
		"HostAddressOfDefault": {Reason: "Kubeconfigs have 127.0.0.1.", Kind: cluster, Before: `spec: {controlPlaneEndpoint: {host: 10.0.0.7, port: 6443}, loadBalancer: {hostPort: 32768}}`,
			After: `spec: {controlPlaneEndpoint: {host: 10.0.0.7, port: 6443}, loadBalancer: {hostPort: 32768, hostAddress: "::1"}}`,
			Field: "spec.loadBalancer.hostAddress", Message: "is immutable once set (127.0.0.1): " + kubeconfigs},
		"HostAddressSame": {Reason: "It is the default.", Kind: cluster, Before: `spec: {controlPlaneEndpoint: {host: 10.0.0.7, port: 6443}, loadBalancer: {hostPort: 32768}}`,
			After: `spec: {controlPlaneEndpoint: {host: 10.0.0.7, port: 6443}, loadBalancer: {hostPort: 32768, hostAddress: 127.0.0.1}}`},
		"HostAddressWithEndpoint": {Reason: "The port was requested, and no kubeconfig has the endpoint yet.", Kind: cluster, Before: `spec: {loadBalancer: {hostPort: 32768}}`,
			After: `spec: {controlPlaneEndpoint: {host: 10.0.0.7, port: 6443}, loadBalancer: {hostPort: 32768, hostAddress: 0.0.0.0}}`},
		"LoadBalancerType": {Reason: "The endpoint would not be served.", Kind: cluster,
			Before: `spec: {loadBalancer: {type: HAProxy}}`, After: `spec: {loadBalancer: {type: None}}`,
			Field: "spec.loadBalancer.type", Message: "is immutable once set (HAProxy): it decides who serves the endpoint; restore the value, or create another cluster"},
		"LoadBalancerTypeDefault": {Reason: "No type is HAProxy.", Kind: cluster,
			Before: `spec: {loadBalancer: {image: "haproxy:3.2"}}`, After: `spec: {loadBalancer: {type: None}}`,
			Field: "spec.loadBalancer.type", Message: "is immutable once set (HAProxy): it decides who serves the endpoint; restore the value, or create another cluster"},
		"NetworkName": {Reason: "Containers do not move.", Kind: cluster, Before: provisioned,
			After: with(endpoint, "name: other", balancer),
			Field: "spec.network.name", Message: "is immutable once set (capcon): " + containers},
		"NetworkNameWithoutStatus": {Reason: "A cluster that was just moved has no status.", Kind: cluster,
			Before: with(endpoint, network, balancer), After: with(endpoint, "name: other", balancer),
			Field: "spec.network.name", Message: "is immutable once set (capcon): " + containers},
		"Subnet": {Reason: "The network has the one it has.", Kind: cluster, Before: provisioned,
			After: with(endpoint, "name: capcon, subnet: 172.30.0.0/16", balancer),
			Field: "spec.network.subnet", Message: "is immutable once the network is in use: " + containers},
	}
}

// clusterIsOwned: whose the cluster is.
func clusterIsOwned() map[string]Change {
	const manager = `cluster.x-k8s.io/managed-by`
	const managedBy = "metadata.annotations[" + manager + "]"
	const tooLate = "must be set on creation: this provider already manages the cluster, whose network, load balancer and finalizer would be orphaned; " +
		"remove the annotation, or create another cluster with it"
	const owned = `spec: {ownerID: abc}`
	const orphaned = "is immutable once set (abc): containers of the cluster have it as a label and would be orphaned; restore the value"
	annotated := func(annotations string) string { return `metadata: {annotations: {` + annotations + `}}` }
	return map[string]Change{
		"OwnerIDFirst": {Reason: "The controller sets it.", Kind: cluster, Before: `spec: {}`, After: owned},
		"OwnerIDOther": {Reason: "The containers carry the first.", Kind: cluster,
			Before: owned, After: `spec: {ownerID: xyz}`, Field: ownerID, Message: orphaned},
		"OwnerIDRemoved": {Reason: "The controller would generate another.", Kind: cluster,
			Before: owned, After: `spec: {}`, Field: ownerID, Message: orphaned},
		"Moved": {Reason: "clusterctl takes all annotations away from what it has moved.", Kind: cluster,
			Before: annotated(manager + ": me"), After: annotated(`clusterctl.cluster.x-k8s.io/delete-for-move: ""`)},
		"ManagedBy":      {Reason: "Another controller adopts a cluster that was not started.", Kind: cluster, Before: `spec: {}`, After: annotated(manager + `: ""`)},
		"ManagedByOther": {Reason: "It may name its version.", Kind: cluster, Before: annotated(manager + ": one"), After: annotated(manager + ": two")},
		"ManagedByLate": {Reason: "No controller would remove what is on the engine.", Kind: cluster,
			Before: owned, After: annotated(manager+": me") + "\n" + owned, Field: managedBy, Message: tooLate},
		"ManagedByFinalized": {Reason: "Nor the finalizer.", Kind: cluster,
			Before: `metadata: {finalizers: [containercluster.infrastructure.cluster.x-k8s.io]}`,
			After:  `metadata: {finalizers: [containercluster.infrastructure.cluster.x-k8s.io], annotations: {` + manager + `: me}}`,
			Field:  managedBy, Message: tooLate},
		"ManagedByGone": {Reason: "Everything would be made twice.", Kind: cluster,
			Before: annotated(manager + `: ""`), After: `spec: {}`, Field: managedBy,
			Message: "must not be removed: this provider would recreate externally managed infrastructure; restore it"},
	}
}

func machineChanges() map[string]Change {
	const mounts = "spec.extraMounts"
	return map[string]Change{
		"ProviderIDFirst": {Reason: "The controller gives it.", Kind: machine,
			Before: `spec: {image: "node:v1"}`, After: `spec: {image: "node:v1", providerID: "container:///a"}`},
		"ProviderIDOther": {Reason: "The Node has the first.", Kind: machine,
			Before: `spec: {providerID: "container:///a"}`, After: `spec: {providerID: "container:///b"}`, Field: "spec.providerID",
			Message: "is immutable once set (container:///a): it is the provider ID of the Node and identifies the container; restore the value"},
		"ProviderIDGone": {Reason: "The container would not be found.", Kind: machine,
			Before: `spec: {providerID: "container:///a"}`, After: `spec: {}`, Field: "spec.providerID",
			Message: "is immutable once set (container:///a): it is the provider ID of the Node and identifies the container; restore the value"},
		"MachineImage": {Reason: "The container keeps its image.", Kind: machine,
			Before: `spec: {image: "node:v1"}`, After: `spec: {image: "node:v2"}`, Field: "spec.image", Message: immutable},
		"MachineImageFirst": {Reason: "It has the image of its version.", Kind: machine,
			Before: `spec: {}`, After: `spec: {image: "node:v2"}`, Field: "spec.image", Message: immutable},
		"MachineMounts": {Reason: "The container keeps its mounts.", Kind: machine,
			Before: `spec: {extraMounts: [{hostPath: /a, containerPath: /a}]}`,
			After:  `spec: {extraMounts: [{hostPath: /a, containerPath: /a, readOnly: true}]}`, Field: mounts, Message: immutable},
		"MachineSearch": {Reason: "The container keeps its resolver.", Kind: machine,
			Before: `spec: {}`, After: `spec: {dnsSearch: [corp.example.com]}`, Field: "spec.dnsSearch", Message: immutable},
		"MachineMountsGone": {Reason: "The container keeps its mounts.", Kind: machine,
			Before: `spec: {extraMounts: [{hostPath: /a, containerPath: /a}]}`, After: `spec: {}`, Field: mounts, Message: immutable},
		"MachineMountsSame": {Reason: "What is said in other words is the same.", Kind: machine,
			Before: `spec: {extraMounts: [{hostPath: /a, containerPath: /a}]}`,
			After:  `spec: {extraMounts: [{hostPath: /a, containerPath: /a, readOnly: false}]}`},
		"MachineResources": {Reason: "The container keeps its limits.", Kind: machine,
			Before: `spec: {resources: {cpu: 1}}`, After: `spec: {resources: {cpu: 2}}`, Field: "spec.resources", Message: immutable},
		"MachineResourcesInPlace": {Reason: "Cluster API updates the Machine, and the running container gets them.", Kind: machine,
			Before: `spec: {resources: {cpu: 1, memory: 2Gi, pids: 1000}}`,
			After:  updating + `spec: {resources: {cpu: 2, memory: 4Gi, pids: 2000}, bootstrapTimeout: 5m}`},
		"MachineResourcesShrinkInPlace": {Reason: "The node may need them.", Kind: machine,
			Before: `spec: {resources: {cpu: 2, memory: 2Gi}}`, After: updating + `spec: {resources: {cpu: 1, memory: 4Gi}}`,
			Field: "spec.resources", Message: immutable},
		"MachineResourcesFirstInPlace": {Reason: "Without a limit, it has more.", Kind: machine,
			Before: `spec: {}`, After: updating + `spec: {resources: {memory: 4Gi}}`, Field: "spec.resources", Message: immutable},
		"MachineImageInPlace": {Reason: "The container keeps its image.", Kind: machine,
			Before: `spec: {image: "node:v1"}`, After: updating + `spec: {image: "node:v2"}`, Field: "spec.image", Message: immutable},
		"MachineResourcesSame": {Reason: "What is said in other words is the same.", Kind: machine,
			Before: `spec: {resources: {cpu: 1}}`, After: `spec: {resources: {cpu: 1000m}}`},
		"MachinePorts": {Reason: "An engine publishes ports when it creates a container.", Kind: machine,
			Before: `spec: {portMappings: [{containerPort: 80}]}`, After: `spec: {portMappings: [{containerPort: 81}]}`,
			Field: "spec.portMappings", Message: immutable},
		"MachinePortsSame": {Reason: "A default may be given.", Kind: machine,
			Before: `spec: {portMappings: [{containerPort: 80}]}`, After: `spec: {portMappings: [{containerPort: 80, address: 127.0.0.1, protocol: TCP}]}`},
		"MachineEnvironment": {Reason: "A process keeps the variables it began with.", Kind: machine,
			Before: `spec: {environment: [{name: A, value: a}]}`, After: `spec: {environment: [{name: A, value: b}]}`,
			Field: "spec.environment", Message: immutable},
		"MachineLabels": {Reason: "An engine labels a container when it creates it.", Kind: machine,
			Before: `spec: {labels: {a: b}}`, After: `spec: {labels: {a: c}}`, Field: "spec.labels", Message: immutable},
		"MachineDevices": {Reason: "A container keeps its devices.", Kind: machine,
			Before: `spec: {devices: [{path: /dev/fuse}]}`, After: `spec: {devices: [{path: /dev/kvm}]}`, Field: "spec.devices", Message: immutable},
		"MachineDevicesSame": {Reason: "A default may be given.", Kind: machine,
			Before: `spec: {devices: [{path: /dev/fuse}]}`, After: `spec: {devices: [{path: /dev/fuse, containerPath: /dev/fuse}]}`},
		"MachineTimeout": {Reason: "It is only looked at.", Kind: machine,
			Before: `spec: {bootstrapTimeout: 10m}`, After: `spec: {bootstrapTimeout: 30m}`},
		"MachineMaintenance": {Reason: "Users write annotations.", Kind: machine,
			Before: `spec: {image: "node:v1"}`,
			After:  `{metadata: {annotations: {container.infrastructure.cluster.x-k8s.io/maintenance: ""}}, spec: {image: "node:v1"}}`},
		"MachineDryRun": {Reason: "What the topology controller may ask of templates, it may not of machines.", Kind: machine, TopologyAsks: true,
			Before: `spec: {image: "node:v1"}`, After: `spec: {image: "node:v2"}`, Field: "spec.image", Message: immutable},
	}
}

func clusterTemplateChanges() map[string]Change {
	const before = `spec: {template: {spec: {network: {name: a}}}}`
	return map[string]Change{
		"ClusterTemplateSpec": {Reason: "Clusters were made from it.", Kind: clusterTemplate,
			Before: before, After: `spec: {template: {spec: {network: {name: b}}}}`, Field: "spec.template.spec.network", Message: madeFrom},
		"ClusterTemplateMore": {Reason: "Clusters were made without it.", Kind: clusterTemplate,
			Before: before, After: `spec: {template: {spec: {network: {name: a}, failureDomains: [{name: a}]}}}`,
			Field: "spec.template.spec.failureDomains", Message: madeFrom},
		"ClusterTemplateDryRun": {Reason: "The topology controller asks whether it needs another.", Kind: clusterTemplate, TopologyAsks: true,
			Before: before, After: `spec: {template: {spec: {network: {name: b}}}}`},
		"ClusterTemplateDefaults": {Reason: "One from before there were webhooks is filled in.", Kind: clusterTemplate,
			Before: before, After: `spec: {template: {spec: {network: {name: a}, loadBalancer: {type: HAProxy}}}}`},
		"ClusterTemplateMetadata": {Reason: "Labels reach the clusters by themselves.", Kind: clusterTemplate,
			Before: before, After: `spec: {template: {metadata: {labels: {a: b}}, spec: {network: {name: a}}}}`},
	}
}

func machineTemplateChanges() map[string]Change {
	const before = `spec: {template: {spec: {image: "node:v1"}}}`
	return map[string]Change{
		"MachineTemplateSpec": {Reason: "Machines were made from it.", Kind: machineTemplate,
			Before: before, After: `spec: {template: {spec: {image: "node:v2"}}}`, Field: "spec.template.spec.image", Message: madeFrom},
		"MachineTemplateGone": {Reason: "Machines were made with it.", Kind: machineTemplate,
			Before: before, After: `spec: {template: {metadata: {labels: {a: b}}}}`, Field: "spec.template.spec.image", Message: madeFrom},
		"MachineTemplateDryRun": {Reason: "The topology controller asks whether it needs another.", Kind: machineTemplate, TopologyAsks: true,
			Before: before, After: `spec: {template: {spec: {image: "node:v2"}}}`},
		"MachineTemplateDryRunBad": {Reason: "An invalid template is refused in a dry run too.", Kind: machineTemplate, TopologyAsks: true,
			Before: before, After: `spec: {template: {spec: {image: "a b"}}}`, Field: "spec.template.spec.image", Message: noImage},
		"MachineTemplateMetadata": {Reason: "Labels reach the machines by themselves.", Kind: machineTemplate,
			Before: before, After: `spec: {template: {metadata: {labels: {a: b}}, spec: {image: "node:v1"}}}`},
		"MachineTemplateBadMetadata": {Reason: "They have to be labels all the same.", Kind: machineTemplate,
			Before: before, After: `spec: {template: {metadata: {labels: {a: "b c"}}, spec: {image: "node:v1"}}}`, Field: "spec.template.metadata.labels",
			Message: "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric " +
				"character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"},
	}
}

func poolChanges() map[string]Change {
	return map[string]Change{
		"PoolImage": {Reason: "The instances are replaced, one after the other.", Kind: pool,
			Before: `spec: {template: {spec: {image: "node:v1"}}}`, After: `spec: {template: {spec: {image: "node:v2"}}}`},
		"PoolMounts": {Reason: "So they are for other mounts.", Kind: pool,
			Before: `spec: {template: {spec: {image: "node:v1"}}}`,
			After:  `spec: {template: {spec: {image: "node:v1", extraMounts: [{hostPath: /a, containerPath: /a}]}}}`},
		"PoolProviderIDs": {Reason: "The controller keeps them.", Kind: pool,
			Before: `spec: {providerIDList: ["container:///a"]}`, After: `spec: {providerIDList: ["container:///b", "container:///c"]}`},
		"PoolBadImage": {Reason: "What cannot come about cannot be rolled out.", Kind: pool,
			Before: `spec: {template: {spec: {image: "node:v1"}}}`, After: `spec: {template: {spec: {image: "a b"}}}`,
			Field: "spec.template.spec.image", Message: noImage},
	}
}

func poolTemplateChanges() map[string]Change {
	const before, after = `spec: {template: {spec: {template: {spec: {image: "node:v1"}}}}}`, `spec: {template: {spec: {template: {spec: {image: "node:v2"}}}}}`
	return map[string]Change{
		"PoolTemplateSpec": {Reason: "Pools were made from it.", Kind: poolTemplate,
			Before: before, After: after, Field: "spec.template.spec.template", Message: madeFrom},
		"PoolTemplateDryRun": {Reason: "The topology controller asks whether it needs another.", Kind: poolTemplate, TopologyAsks: true,
			Before: before, After: after},
		"PoolTemplateDryRunBad": {Reason: "An invalid template is refused in a dry run too.", Kind: poolTemplate, TopologyAsks: true,
			Before: before, After: `spec: {template: {spec: {template: {spec: {image: "a b"}}}}}`, Field: "spec.template.spec.template.spec.image", Message: noImage},
		"PoolTemplateMetadata": {Reason: "Labels reach the pools by themselves.", Kind: poolTemplate,
			Before: before, After: `spec: {template: {metadata: {labels: {a: b}}, spec: {template: {spec: {image: "node:v1"}}}}}`},
	}
}
