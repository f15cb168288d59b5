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

package v1beta2

import clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

// Conditions and reasons of a ContainerCluster. The Ready condition is the
// summary that Cluster API mirrors as InfrastructureReady.
const (
	// ClusterReadyCondition is True while the network and the load balancer work. It is False when one
	// of them does not work, and while the cluster is deleted.
	ClusterReadyCondition = clusterv1.ReadyCondition

	// PreflightPassedCondition reports whether the engine and the host have what nodes need. Its
	// message lists each missing item with its remedy. Warnings do not make it False.
	PreflightPassedCondition = "PreflightPassed"
	// PreflightPassedReason: nothing is missing. The message may contain warnings.
	PreflightPassedReason = "PreflightPassed"
	// PreflightFailedReason: the engine or the host lacks something that nodes need. The administrator
	// of the host must provide it.
	PreflightFailedReason = "PreflightFailed"
	// EngineUnavailableReason: the container engine does not respond, or its ContainerEngine says why it is
	// not used. Start the engine; the controller retries. Also on other conditions.
	EngineUnavailableReason = "EngineUnavailable"
	// EngineInMaintenanceReason: no cluster is created on the engine, because spec.maintenance of the
	// ContainerEngine is true.
	EngineInMaintenanceReason = "EngineInMaintenance"
	// EngineNotChosenReason: no ContainerEngine that spec.engineSelector selects, or spec.engineNames names, is ready and
	// has the capacity for the cluster. The message says of each why; the controller retries. Also of a machine of a cluster
	// over several engines.
	EngineNotChosenReason = "EngineNotChosen"
	// EngineChangedReason: the engine that responds is not the one on which the cluster was created.
	// Whether containers that are not found still exist is unknown. Also on other conditions.
	EngineChangedReason = "EngineChanged"

	// NetworkReadyCondition reports whether the network of the cluster exists and has static
	// addresses.
	NetworkReadyCondition = "NetworkReady"
	// NetworkReadyReason: the network works.
	NetworkReadyReason = "Ready"
	// AddressRangesInvalidReason: the ranges of Pods and Services in spec.clusterNetwork of the Cluster
	// do not fit together. The message has the field and the remedy.
	AddressRangesInvalidReason = "AddressRangesInvalid"
	// NetworkUnusableReason: a network of that name exists and cannot be used. Choose another name, or
	// remove the network. Or it does not connect the engines of the cluster: the controller retries.
	NetworkUnusableReason = "NetworkUnusable"
	// NetworkNotReadyReason: the engine returned the error in the message. The controller retries.
	NetworkNotReadyReason = "NotReady"

	// LoadBalancerReadyCondition reports whether the load balancer runs with the configuration for the
	// current control-plane machines.
	LoadBalancerReadyCondition = "LoadBalancerReady"
	// LoadBalancerReadyReason: the load balancer works.
	LoadBalancerReadyReason = "Ready"
	// LoadBalancerNotUsedReason: the type of the load balancer is None.
	LoadBalancerNotUsedReason = "NotUsed"
	// LoadBalancerNotReadyReason: the engine or HAProxy returned the error in the message. The
	// controller retries.
	LoadBalancerNotReadyReason = "NotReady"
	// LoadBalancerNotRunningReason: the container of the load balancer exited or was not found, and
	// was started or recreated.
	LoadBalancerNotRunningReason = "LoadBalancerNotRunning"
	// LoadBalancerRestartedReason: the container of the load balancer exited a moment ago, and its
	// restart policy restarted it.
	LoadBalancerRestartedReason = "LoadBalancerRestarted"
	// LoadBalancerPausedReason: a user paused the container of the load balancer.
	LoadBalancerPausedReason = "LoadBalancerPaused"
	// LoadBalancerImagePullingReason: the image of the load balancer is being pulled.
	LoadBalancerImagePullingReason = "ImagePulling"
	// LoadBalancerImagePullFailedReason: the image of the load balancer cannot be pulled.
	LoadBalancerImagePullFailedReason = "ImagePullFailed"
	// HostPortInUseReason: another process uses the host port that was chosen for the lifetime of the
	// cluster. Free the port; the provider does not choose another one, because kubeconfigs contain
	// it. On ContainerReady: a host port of spec.portMappings is in use.
	HostPortInUseReason = "HostPortInUse"
	// AddressInUseReason: the address that was chosen for the lifetime of the cluster belongs to the
	// container in the message, or to the gateway of the network.
	AddressInUseReason = "AddressInUse"
	// SubnetExhaustedReason: the network has no free address. Delete machines, or use a larger subnet.
	// Also on ContainerReady.
	SubnetExhaustedReason = "SubnetExhausted"
	// ContainerNotOwnedReason: a container of that name exists, and the object in the message owns it.
	// Also on ContainerReady.
	ContainerNotOwnedReason = "ContainerNotOwned"
	// EndpointMissingReason: the type of the load balancer is None, and no endpoint is set yet.
	EndpointMissingReason = "EndpointMissing"
	// EndpointUnsupportedReason: the endpoint of the Cluster or the ContainerCluster is an address of a
	// family that the address ranges of the Cluster lack.
	EndpointUnsupportedReason = "EndpointUnsupported"

	// WorkloadControllersReadyCondition reports on the controllers that the provider runs for the
	// workload cluster: storage, load balancers of Services and the address of a local registry. It
	// exists once the API server was reached, and only if one of them is used or is being removed. It
	// is not part of Ready.
	WorkloadControllersReadyCondition = "WorkloadControllersReady"
	// WorkloadControllersReadyReason: the controllers run.
	WorkloadControllersReadyReason = "Ready"
	// WorkloadControllersConnectingReason: the controllers are starting, or are stopped because the
	// API server of the workload cluster cannot be reached.
	WorkloadControllersConnectingReason = "Connecting"
	// WorkloadControllersNotReadyReason: a controller returned the error in the message. It is
	// retried.
	WorkloadControllersNotReadyReason = "NotReady"
	// ForeignStorageClassReason: the controllers run, and the StorageClass "standard" belongs to the
	// provisioner in the message.
	ForeignStorageClassReason = "ForeignStorageClass"
	// DrainingReason: load balancers of Services are disabled, and not all of them are removed yet.
	DrainingReason = "Draining"

	// StoppedCondition reports whether the containers of the cluster are stopped because of the
	// annotation of the Cluster, and the progress of stopping and starting them. It exists only if the
	// cluster was stopped once, and it is not part of Ready.
	StoppedCondition = "Stopped"
	// StoppedReason: all containers are stopped.
	StoppedReason = "Stopped"
	// StoppingReason: containers are being stopped. The message has their number, and the names of
	// those that could not be stopped.
	StoppingReason = "Stopping"
	// StopFailedReason: two minutes after the stop started, the containers in the message are not
	// stopped. The controller retries.
	StopFailedReason = "StopFailed"
	// StartingReason: containers are being started. The message has the number of running ones, and
	// what the start waits for.
	StartingReason = "Starting"
	// StartFailedReason: five minutes after the start, the containers in the message do not run or are
	// not found, or their Nodes are not Ready. The Cluster is no longer paused, so that Machines can
	// be remediated.
	StartFailedReason = "StartFailed"
	// StartedReason: all containers were started, and all Nodes were Ready afterwards.
	StartedReason = "Started"

	// DeletingReason: the object is being deleted. The message lists what still exists. Also on
	// ContainerReady.
	DeletingReason = clusterv1.DeletingReason
)

// Conditions and reasons of a ContainerMachine. The Ready condition is the
// summary that Cluster API mirrors as InfrastructureReady.
const (
	// MachineReadyCondition is True while the container runs, is not paused, is connected to its
	// network with its address, and its bootstrap is completed.
	MachineReadyCondition = clusterv1.ReadyCondition

	// ContainerReadyCondition reports whether the container exists and runs.
	ContainerReadyCondition = "ContainerReady"
	// ContainerRunningReason: the container runs, and is connected to its network with its address.
	ContainerRunningReason = "ContainerRunning"
	// WaitingForInfrastructureReason: the network and the load balancer of the Cluster are not ready
	// yet.
	WaitingForInfrastructureReason = "WaitingForClusterInfrastructure"
	// WaitingForBootstrapDataReason: the bootstrap provider has not written the data Secret yet.
	WaitingForBootstrapDataReason = "WaitingForBootstrapData"
	// ImagePullingReason: the node image is being pulled. The message has the progress.
	ImagePullingReason = "ImagePulling"
	// ImagePullFailedReason: the node image cannot be pulled. The message has the cause and the
	// remedy.
	ImagePullFailedReason = "ImagePullFailed"
	// VersionUnsupportedReason: the spec has no image, and no image is known for the Kubernetes
	// version of the Machine.
	VersionUnsupportedReason = "VersionUnsupported"
	// ContainerCreatingReason: the engine is still creating the container after an earlier request.
	// The controller waits.
	ContainerCreatingReason = "ContainerCreating"
	// ContainerFailedReason: the engine refuses the container, or the spec has values with which it
	// would not be a node. The message has the cause.
	ContainerFailedReason = "ContainerFailed"
	// ContainerExitedReason: the container exited. The message has the exit code and whether it was
	// OOMKilled. It is restarted unless the object has the maintenance annotation.
	ContainerExitedReason = "ContainerExited"
	// ClusterStoppedReason: the Cluster has the annotation that stops it. Also on LoadBalancerReady.
	ClusterStoppedReason = "ClusterStopped"
	// ContainerRestartedReason: the container exited a moment ago, and its restart policy restarted
	// it. The message has the exit code and whether it was OOMKilled.
	ContainerRestartedReason = "ContainerRestarted"
	// ContainerCrashLoopReason: the container exited at least five times, each time less than 90
	// seconds after the previous one. It is still restarted.
	ContainerCrashLoopReason = "ContainerCrashLoop"
	// ContainerPausedReason: a user paused the container.
	ContainerPausedReason = "ContainerPaused"
	// ContainerDisconnectedReason: the container is not connected to its network, or does not have its
	// address.
	ContainerDisconnectedReason = "ContainerDisconnected"
	// ContainerNotFoundReason: the container of a machine that already was a Node is not found. It is
	// not recreated: a MachineHealthCheck or the control plane replaces the Machine.
	ContainerNotFoundReason = "ContainerNotFound"

	// BootstrapCompletedCondition reports the progress of the bootstrap inside the node, as recorded
	// by the node.
	BootstrapCompletedCondition = "BootstrapCompleted"
	// BootstrapCompletedReason: all commands exited with code 0.
	BootstrapCompletedReason = "BootstrapCompleted"
	// WaitingForContainerReason: no container runs yet.
	WaitingForContainerReason = "WaitingForContainer"
	// BootstrappingReason: the bootstrap runs in the container in the message.
	BootstrappingReason = "Bootstrapping"
	// BootstrapTimeoutReason: the bootstrap runs for longer than bootstrapTimeout. It is not stopped.
	BootstrapTimeoutReason = "BootstrapTimeout"
	// BootstrapFailedReason: a command failed. The message has the step, the exit code and the last
	// lines of the log without secrets.
	BootstrapFailedReason = "BootstrapFailed"
	// BootstrapInterruptedReason: the node was stopped during its bootstrap, which cannot continue.
	// Workers and the first control plane are recreated; other machines must be replaced.
	BootstrapInterruptedReason = "BootstrapInterrupted"
	// BootstrapDataInvalidReason: the data Secret cannot be used. The message has the cause, without
	// quoting the data.
	BootstrapDataInvalidReason = "BootstrapDataInvalid"
	// BootstrapStatusUnknownReason: the bootstrap record of the node cannot be read at the moment.
	BootstrapStatusUnknownReason = "BootstrapStatusUnknown"
	// ProviderIDMismatchReason: the user configured the kubelet with a provider ID other than that of
	// the machine, so Cluster API will not find the Node.
	ProviderIDMismatchReason = "ProviderIDMismatch"

	// ResourcesConfiguredCondition reports whether the running node has the limits of spec.resources of
	// the ContainerMachine, or of the ContainerCluster for its role. It exists only if one of them has some, and it is
	// not part of Ready.
	ResourcesConfiguredCondition = "ResourcesConfigured"
	// ResourcesConfiguredReason: the container has these limits, and the Node's allocatable resources follow.
	ResourcesConfiguredReason = "ResourcesConfigured"
	// ResourcesUnavailableReason: the engine's host has less than that. The node keeps its limits.
	ResourcesUnavailableReason = "ResourcesUnavailable"
	// MemoryInUseReason: the node uses more memory than that, and keeps its limits. Delete Pods, or use more.
	MemoryInUseReason = "MemoryInUse"

	// UpdatingCondition reports the progress of an in-place update that Cluster API asked the Runtime
	// Extension of this provider for. It exists only during one, which began at its last transition, and
	// it is not part of Ready.
	UpdatingCondition = "Updating"
	// UpdatingReason: files of the node are written, or what reads them restarts. The message has the step.
	UpdatingReason = "Updating"
	// UpdateFailedReason: the step in the message failed. It is retried.
	UpdateFailedReason = "UpdateFailed"
	// UpdatedReason: the node has all files. Cluster API ends the update when it has the limits too.
	UpdatedReason = "Updated"

	// RegistriesConfiguredCondition reports whether the node pulls images as configured in
	// spec.registries of the ContainerCluster. It exists only if that has registries, and it is not
	// part of Ready.
	RegistriesConfiguredCondition = "RegistriesConfigured"
	// RegistriesConfiguredReason: the node has this configuration.
	RegistriesConfiguredReason = "RegistriesConfigured"
	// RegistryCredentialsInvalidReason: the Secret of a registry is not found or has no credentials. A
	// running node keeps its configuration; a new one is not created. Also on ContainerReady.
	RegistryCredentialsInvalidReason = "RegistryCredentialsInvalid"
)

// Conditions and reasons of a ContainerEngine.
const (
	// EngineReadyCondition is True while the engine responds and its host has what nodes need.
	EngineReadyCondition = clusterv1.ReadyCondition
	// EngineDebtsUnpaidReason: the engine responds, and has what was left by the clusters in the message, which were deleted
	// while it was lost. Until the controller has removed that, nothing is created on the engine. The message has the
	// cause if that fails; the controller retries.
	EngineDebtsUnpaidReason = "DebtsUnpaid"

	// EngineReachableCondition reports whether the manager reaches the engine, and whether it is the
	// one that it was before. While it is not True, nothing is created or removed on the engine.
	EngineReachableCondition = "Reachable"
	// EngineReachableReason: the engine responds.
	EngineReachableReason = "Reachable"
	// EngineUnreachableReason: the engine does not respond. The message has the cause. It is tried
	// again every 15 seconds.
	EngineUnreachableReason = "Unreachable"
	// EngineEndpointInvalidReason: the endpoint cannot be used. The message has the cause.
	EngineEndpointInvalidReason = "EndpointInvalid"
	// EngineEndpointNotAllowedReason: the manager may not dial the endpoint, by its flag
	// --allowed-engine-endpoints.
	EngineEndpointNotAllowedReason = "EndpointNotAllowed"
	// EngineCredentialsInvalidReason: the Secret is not found or lacks a key, or one side does not trust
	// the other. The message has the key of the Secret.
	EngineCredentialsInvalidReason = "CredentialsInvalid"
	// EngineReplacedReason: another engine responds than before. Nothing is removed for it. If the former one is
	// lost, remove the annotation that the message names, and spec.debts.
	EngineReplacedReason = "EngineReplaced"
	// EngineDuplicateReason: the engine that responds is that of another ContainerEngine of the namespace. Nothing is created
	// or removed through this object. Correct its endpoint, or delete it.
	EngineDuplicateReason = "DuplicateEngine"
	// EngineLostReason: spec.lost says that the engine is gone. The manager does not connect to it, and objects that are
	// deleted do not wait for it: what they leave there is recorded in spec.debts.
	EngineLostReason = "Lost"

	// EngineHostReadyCondition reports whether the engine and its host have what nodes need. Its
	// message lists each missing item with its remedy. Warnings do not make it False. What only a container
	// on the host shows is known once a machine was created there.
	EngineHostReadyCondition = "HostReady"
	// EngineHostReadyReason: nothing is missing that is known. The message may contain warnings.
	EngineHostReadyReason = "HostReady"
	// EngineHostNotReadyReason: something is missing that nodes need. The administrator of the host
	// must provide it.
	EngineHostNotReadyReason = "HostNotReady"
	// EngineHostUnknownReason: the engine does not respond.
	EngineHostUnknownReason = "HostUnknown"
	// EngineInUseReason: the object is being deleted, and the clusters in the message are on the
	// engine, or left something there. Delete them first; set spec.lost if the host is given up.
	EngineInUseReason = "InUse"
)

// Conditions and reasons of a ContainerMachinePool.
const (
	// MachinePoolReadyCondition is ReplicasReady. It stays True while instances are replaced by newer
	// ones, because at least the desired number stays ready.
	MachinePoolReadyCondition = clusterv1.ReadyCondition

	// ReplicasReadyCondition reports whether at least the desired number of instances is ready: their
	// containers run, their bootstraps are completed, and Cluster API observes their Nodes as Ready.
	// Its other reasons are WaitingForClusterInfrastructure, WaitingForBootstrapData and Deleting.
	ReplicasReadyCondition = "ReplicasReady"
	// ReplicasReadyReason: enough instances are ready.
	ReplicasReadyReason = "Ready"
	// ReplicasNotReadyReason: too few instances are ready. The message lists those that are not ready,
	// with the cause.
	ReplicasNotReadyReason = "NotReady"

	// ReplicasUpToDateCondition reports whether all instances match the current
	// spec of the MachinePool.
	ReplicasUpToDateCondition = "ReplicasUpToDate"
	// ReplicasUpToDateReason: all instances match the spec.
	ReplicasUpToDateReason = "UpToDate"
	// RollingOutReason: some instances were created from another spec, for another Kubernetes version
	// or with other bootstrap data. They are replaced one by one.
	RollingOutReason = "RollingOut"
)
