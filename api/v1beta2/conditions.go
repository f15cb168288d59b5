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
	// ClusterReadyCondition is True while network and load balancer work. It
	// turns False when they stop working and while the cluster is deleted.
	ClusterReadyCondition = clusterv1.ReadyCondition

	// PreflightPassedCondition reports whether engine and host have what nodes
	// need. Its message names each item that is missing and the remedy.
	// Warnings do not make it False.
	PreflightPassedCondition = "PreflightPassed"
	// PreflightPassedReason: nothing is missing; warnings may be in the
	// message.
	PreflightPassedReason = "PreflightPassed"
	// PreflightFailedReason: nodes need something that is missing. The
	// administrator of the host has to provide it.
	PreflightFailedReason = "PreflightFailed"
	// EngineUnavailableReason: the container engine does not answer. It is
	// retried. Start the engine. On other conditions too.
	EngineUnavailableReason = "EngineUnavailable"
	// EngineChangedReason: the engine that answers is not the one that the cluster was
	// created on, so that it is unknown what has become of a container that is not found.
	// On other conditions too.
	EngineChangedReason = "EngineChanged"

	// NetworkReadyCondition reports whether the cluster's network exists and
	// can give static addresses.
	NetworkReadyCondition = "NetworkReady"
	// NetworkReadyReason: the network works.
	NetworkReadyReason = "Ready"
	// NetworkUnusableReason: a network of that name exists and cannot be
	// used. Choose another name or remove it.
	NetworkUnusableReason = "NetworkUnusable"
	// NetworkNotReadyReason: the engine gave an error, which the message
	// holds; it is tried again.
	NetworkNotReadyReason = "NotReady"

	// LoadBalancerReadyCondition reports whether the load balancer runs and
	// serves the configuration that fits the control-plane machines.
	LoadBalancerReadyCondition = "LoadBalancerReady"
	// LoadBalancerReadyReason: the load balancer works.
	LoadBalancerReadyReason = "Ready"
	// LoadBalancerNotUsedReason: the type is None.
	LoadBalancerNotUsedReason = "NotUsed"
	// LoadBalancerNotReadyReason: the engine or haproxy gave an error, which
	// the message holds; it is tried again.
	LoadBalancerNotReadyReason = "NotReady"
	// LoadBalancerNotRunningReason: its container exited or was not found, and
	// was started or recreated.
	LoadBalancerNotRunningReason = "LoadBalancerNotRunning"
	// LoadBalancerRestartedReason: its container exited a moment ago and its
	// restart policy restarted it.
	LoadBalancerRestartedReason = "LoadBalancerRestarted"
	// LoadBalancerPausedReason: a user paused its container.
	LoadBalancerPausedReason = "LoadBalancerPaused"
	// LoadBalancerImagePullingReason: its image is being fetched.
	LoadBalancerImagePullingReason = "ImagePulling"
	// LoadBalancerImagePullFailedReason: its image cannot be fetched.
	LoadBalancerImagePullFailedReason = "ImagePullFailed"
	// HostPortInUseReason: the host port that was chosen for life belongs to
	// another process. Free it; the provider does not choose a new one,
	// because kubeconfigs name the old. On ContainerReady, a host port of
	// spec.portMappings is in use.
	HostPortInUseReason = "HostPortInUse"
	// AddressInUseReason: the address that was chosen for life belongs to
	// another container, which the message names, or to the network's
	// gateway.
	AddressInUseReason = "AddressInUse"
	// SubnetExhaustedReason: the network has no free address. Delete
	// machines or use a larger subnet. On ContainerReady too.
	SubnetExhaustedReason = "SubnetExhausted"
	// ContainerNotOwnedReason: a container of the name exists and another
	// object owns it, which the message names. On ContainerReady too.
	ContainerNotOwnedReason = "ContainerNotOwned"
	// EndpointMissingReason: the load balancer's type is None and no
	// endpoint is given yet.
	EndpointMissingReason = "EndpointMissing"
	// EndpointUnsupportedReason: the endpoint that the Cluster gives is an
	// IPv6 address. The load balancer listens on IPv4 only.
	EndpointUnsupportedReason = "EndpointUnsupported"

	// WorkloadControllersReadyCondition reports on what the provider runs for the
	// workload cluster: storage, load balancers of Services and the address of a
	// local registry. It is there once the API server was reached, and only where
	// one of them is used or is being removed. It is not part of Ready.
	WorkloadControllersReadyCondition = "WorkloadControllersReady"
	// WorkloadControllersReadyReason: they run.
	WorkloadControllersReadyReason = "Ready"
	// WorkloadControllersConnectingReason: they start, or are stopped because
	// the API server of the workload cluster is not reached.
	WorkloadControllersConnectingReason = "Connecting"
	// WorkloadControllersNotReadyReason: one of them gave an error, which the
	// message holds; it is tried again.
	WorkloadControllersNotReadyReason = "NotReady"
	// ForeignStorageClassReason: they run, and the StorageClass "standard" is
	// that of another provisioner. The message has the name of the other one.
	ForeignStorageClassReason = "ForeignStorageClass"
	// DrainingReason: load balancers of Services are switched off and not all
	// removed yet.
	DrainingReason = "Draining"

	// StoppedCondition reports whether the containers of the cluster are stopped
	// because of the Cluster's annotation, and the progress of stopping and
	// starting them. It is there only where the cluster was stopped once, and it
	// is not part of Ready.
	StoppedCondition = "Stopped"
	// StoppedReason: all containers are stopped.
	StoppedReason = "Stopped"
	// StoppingReason: containers are being stopped; the message says how many
	// are, and which could not be stopped.
	StoppingReason = "Stopping"
	// StopFailedReason: two minutes after the stop began, some containers are not
	// stopped; the message names them. It is retried.
	StopFailedReason = "StopFailed"
	// StartingReason: containers are being started; the message says how many
	// run, and what the start waits for.
	StartingReason = "Starting"
	// StartFailedReason: five minutes after the start began, containers do not run or
	// Nodes are not Ready, or a container is not found; the message names them.
	// The Cluster is no longer paused, so that Machines can be remediated.
	StartFailedReason = "StartFailed"
	// StartedReason: all containers were started, and all Nodes were Ready after it.
	StartedReason = "Started"

	// DeletingReason: the object is being deleted; the message says what is
	// still there. On ContainerReady too.
	DeletingReason = clusterv1.DeletingReason
)

// Conditions and reasons of a ContainerMachine. The Ready condition is the
// summary that Cluster API mirrors as InfrastructureReady.
const (
	// MachineReadyCondition is True while the container runs, is not paused,
	// is on its network with its address, and its bootstrap is done.
	MachineReadyCondition = clusterv1.ReadyCondition

	// ContainerReadyCondition reports whether the container exists and runs.
	ContainerReadyCondition = "ContainerReady"
	// ContainerRunningReason: it runs on its network with its address.
	ContainerRunningReason = "ContainerRunning"
	// WaitingForInfrastructureReason: the Cluster's network and load
	// balancer are not there yet.
	WaitingForInfrastructureReason = "WaitingForClusterInfrastructure"
	// WaitingForBootstrapDataReason: the bootstrap provider has not written
	// the data secret yet.
	WaitingForBootstrapDataReason = "WaitingForBootstrapData"
	// ImagePullingReason: the node image is being fetched; the message has
	// the progress.
	ImagePullingReason = "ImagePulling"
	// ImagePullFailedReason: the node image cannot be fetched; the message
	// says why and what to do.
	ImagePullFailedReason = "ImagePullFailed"
	// VersionUnsupportedReason: no image is given, and none is known for the
	// Machine's Kubernetes version.
	VersionUnsupportedReason = "VersionUnsupported"
	// ContainerCreatingReason: the engine has not finished an earlier call to
	// create the container; the controller waits for it.
	ContainerCreatingReason = "ContainerCreating"
	// ContainerFailedReason: the engine refuses the container, or it would be
	// no node with what the spec asks for; the message says why.
	ContainerFailedReason = "ContainerFailed"
	// ContainerExitedReason: it exited; the message has the exit code and
	// whether it was OOMKilled. It is started unless the object is
	// annotated for maintenance.
	ContainerExitedReason = "ContainerExited"
	// ClusterStoppedReason: the Cluster has the annotation that stops it. On
	// LoadBalancerReady too.
	ClusterStoppedReason = "ClusterStopped"
	// ContainerRestartedReason: it exited a moment ago and its restart policy
	// restarted it; the message has the exit code and whether it was OOMKilled.
	ContainerRestartedReason = "ContainerRestarted"
	// ContainerCrashLoopReason: it exited at least five times, each time less than 90
	// seconds after the last; it is restarted nevertheless.
	ContainerCrashLoopReason = "ContainerCrashLoop"
	// ContainerPausedReason: a user paused it.
	ContainerPausedReason = "ContainerPaused"
	// ContainerDisconnectedReason: it is not on its network, or without its
	// address.
	ContainerDisconnectedReason = "ContainerDisconnected"
	// ContainerNotFoundReason: the container of a machine that had become a
	// Node is not found. It is not recreated; a MachineHealthCheck or the
	// control plane replaces the Machine.
	ContainerNotFoundReason = "ContainerNotFound"

	// BootstrapCompletedCondition reports the progress of the bootstrap inside
	// the node, as the node itself recorded it.
	BootstrapCompletedCondition = "BootstrapCompleted"
	// BootstrapCompletedReason: every command exited with 0.
	BootstrapCompletedReason = "BootstrapCompleted"
	// WaitingForContainerReason: there is no running container yet.
	WaitingForContainerReason = "WaitingForContainer"
	// BootstrappingReason: it runs, in the container that the message names.
	BootstrappingReason = "Bootstrapping"
	// BootstrapTimeoutReason: it runs for longer than bootstrapTimeout.
	// Nothing is stopped.
	BootstrapTimeoutReason = "BootstrapTimeout"
	// BootstrapFailedReason: a command failed. The message has step, exit
	// code and the last lines of the log without secrets.
	BootstrapFailedReason = "BootstrapFailed"
	// BootstrapInterruptedReason: the node was stopped in the middle of its
	// bootstrap and cannot continue. Workers and the first control plane are
	// recreated; others are left to be replaced.
	BootstrapInterruptedReason = "BootstrapInterrupted"
	// BootstrapDataInvalidReason: the data secret cannot be used; the
	// message says why without repeating it.
	BootstrapDataInvalidReason = "BootstrapDataInvalid"
	// BootstrapStatusUnknownReason: the node's record cannot be read right now.
	BootstrapStatusUnknownReason = "BootstrapStatusUnknown"
	// ProviderIDMismatchReason: the user gave the kubelet another provider
	// ID than the machine's, so Cluster API will not find the Node.
	ProviderIDMismatchReason = "ProviderIDMismatch"

	// RegistriesConfiguredCondition reports whether the node pulls images as
	// spec.registries of the ContainerCluster says. It is there only where
	// that has registries, and it is not part of Ready.
	RegistriesConfiguredCondition = "RegistriesConfigured"
	// RegistriesConfiguredReason: the node has this configuration.
	RegistriesConfiguredReason = "RegistriesConfigured"
	// RegistryCredentialsInvalidReason: the Secret of a registry is not found or
	// has no credentials. A node that runs keeps the configuration it has; a new
	// one is not created. On ContainerReady too.
	RegistryCredentialsInvalidReason = "RegistryCredentialsInvalid"
)

// Conditions and reasons of a ContainerMachinePool.
const (
	// MachinePoolReadyCondition is ReplicasReady. It stays True while
	// instances are replaced by newer ones, which never leaves fewer ready
	// than are wanted.
	MachinePoolReadyCondition = clusterv1.ReadyCondition

	// ReplicasReadyCondition reports whether at least as many instances are
	// ready as the MachinePool wants: their containers run, their bootstraps
	// are done, and Cluster API finds their Nodes ready.
	// WaitingForClusterInfrastructure, WaitingForBootstrapData and Deleting
	// are among its reasons.
	ReplicasReadyCondition = "ReplicasReady"
	// ReplicasReadyReason: enough instances are ready.
	ReplicasReadyReason = "Ready"
	// ReplicasNotReadyReason: too few are ready; the message names those that
	// are not ready, and why.
	ReplicasNotReadyReason = "NotReady"

	// ReplicasUpToDateCondition reports whether all instances match the current
	// spec of the MachinePool.
	ReplicasUpToDateCondition = "ReplicasUpToDate"
	// ReplicasUpToDateReason: they are.
	ReplicasUpToDateReason = "UpToDate"
	// RollingOutReason: some are made from another spec, for another Kubernetes
	// version or with another data secret. They are replaced one after the other.
	RollingOutReason = "RollingOut"
)
