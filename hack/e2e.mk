# Copyright 2026 The cluster-api-provider-container Authors.
#
# Licensed under the Apache License, Version 2.0 (the "License");
# you may not use this file except in compliance with the License.
# You may obtain a copy of the License at
#
#     http://www.apache.org/licenses/LICENSE-2.0
#
# Unless required by applicable law or agreed to in writing, software
# distributed under the License is distributed on an "AS IS" BASIS,
# WITHOUT WARRANTIES OR CONDITIONS OF ANY KIND, either express or implied.
# See the License for the specific language governing permissions and
# limitations under the License.

# The suites that "make e2e RUN=NAME" runs, each with a sentence and the variables that it
# takes; "make e2e-list" prints them. Included by nothing: the root Makefile passes its settings.

MAKEFLAGS += --no-builtin-rules --no-print-directory
.DEFAULT_GOAL := help
.NOTPARALLEL:
.PHONY: help $(shell sed -n 's/^\([A-Za-z0-9-]*\):.*/\1/p' $(lastword $(MAKEFILE_LIST)))

CLUSTER = hack/test-quickstart.sh

help:
	@hack/help.sh $(MAKEFILE_LIST)

.DEFAULT:
	@echo "There is no suite $@. Known: make e2e-list" >&2; exit 1

##@ Suites: make e2e RUN="NAME..." (some take hours, or stop everything that runs on the engine)

all: Quickstart tutorials KindConfig Drift RemediationOfBootstrap EtcdMemberWithoutNode MachinePool Topology TopologyNext Examples UnreachableNetwork RemoteEngine FailureDomains IPFamilies UDPServices ExternalEndpoint OwnBootstrap Convert Move Restore Orphans Faults ClusterVolumes Upgrade release Restart EngineStopsDuringBootstrap mutation ## Disturb containers, engines and bootstraps in all ways there are (hours)

##@ Clusters: capcon on a real engine (e2e/capcon; IP_FAMILY=dual or ipv6 for those that a test creates without families)

Quickstart: ## The quick start, with the steps that "make test" runs on the other engine
	@ALL=yes $(CLUSTER) $@

tutorials: ## Run the commands of the tutorials
	@hack/test-tutorials.sh

Drift: ## Kill a hundred containers and see how soon their objects say so (KILLS=100)
	@KILLS="$${KILLS:-100}" $(CLUSTER) $@

RemediationOfBootstrap: ## Have bootstraps of control planes fail, and see Machines replaced
	@$(CLUSTER) $@

EtcdMemberWithoutNode: ## Delete a member of etcd that is no Node
	@$(CLUSTER) $@

Certificates: ## Let the certificates of three control planes end, and renew them
	@$(CLUSTER) $@

KindConfig: ## Clusters from configurations of kind (EXAMPLES=regular expression; default all)
	@$(MAKE) images-load KUBERNETES_VERSION=v1.35.4
	@$(CLUSTER) $@

IPFamilies: ## Clusters with IPv6 and with both families, through a restart
	@$(CLUSTER) $@

UDPServices: ## DNS of a cluster by a Service with TCP and UDP, through a restart
	@$(CLUSTER) $@

FailureDomains: ## Spread control planes over failure domains and pin workers to some
	@$(CLUSTER) $@

ExternalEndpoint: ## A cluster with an external control plane endpoint
	@$(CLUSTER) $@

MachinePool: ## Disturb, roll out, drain and delete a machine pool
	@$(CLUSTER) $@

UnreachableNetwork: ## Make, scale and delete a cluster from a host that does not reach its network
	@$(CLUSTER) $@

Convert: ## Convert CAPD's templates, have the plane check all of them, and make clusters of some
	@$(CLUSTER) $@

OwnBootstrap: ## A control plane that starts from its user's own script, without kubeadm
	@$(CLUSTER) $@

Topology: ## Change a cluster by its topology: variables, another Kubernetes
	@$(MAKE) images-load KUBERNETES_VERSION=v1.35.4
	@$(CLUSTER) $@

Examples: ## Create the cluster of each file in examples/clusters, and look into its nodes
	@$(CLUSTER) $@

TopologyNext: ## The same, upgraded to the newest Kubernetes
	@$(MAKE) images-load KUBERNETES_VERSION=v1.37.2
	@NEXT=yes $(CLUSTER) Topology

Move: ## Move a cluster to another management plane and back, below clients that never pause
	@$(CLUSTER) $@

Restore: ## Lose the management plane and restore the cluster into a new one, below clients that never pause
	@$(CLUSTER) $@

Orphans: ## Two management planes with a cluster of one name: lose one of them, and collect what it left
	@$(CLUSTER) $@

ClusterVolumes: ## A database on a PersistentVolume of storage type Cluster, while nodes are drained, killed, paused and upgraded
	@$(MAKE) images-load KUBERNETES_VERSION=v1.35.4
	@$(CLUSTER) $@

Faults: ## Random faults of a cluster with data on a PersistentVolume (COUNT=8, SEED to repeat them)
	@$(CLUSTER) $@

Restart: ## Restart the engine and all containers below clusters of 1+1 and of 3+3
	@RESTARTS=all $(CLUSTER) $@
	@RESTARTS=all CONTROL_PLANES=3 WORKERS=3 $(CLUSTER) $@

EngineStopsDuringBootstrap: ## Stop the engine, on Podman the host, for a minute at ten points of each bootstrap (OPERATIONS=init POINTS="1 2")
	@POINTS="$${POINTS:-0 1 2 3 4 5 6 8 10 12 configmap}" $(CLUSTER) $@

Soak: ## 200 changes of control planes below clients that never pause (CHANGES=200 CLUSTERS=1)
	@$(CLUSTER) $@

Upgrade: ## Upgrade capcon and its management plane from an earlier commit, with a live cluster (FROM=commit)
	@hack/e2e-upgrade.sh

MemoryPlane: ## A management plane whose clusters are in memory, and the loss of its container
	@$(MAKE) images-load IMAGES="plane-memory haproxy"
	@$(CLUSTER) $@

##@ Specs and conformance

cluster-api: ## Cluster API's own e2e specs on this provider (MANAGEMENT=kind|plane FOCUS="KCP remediation" REPEAT=20 IP_FAMILY=dual: for kind)
	@hack/e2e-capi.sh

conformance: ## Kubernetes' conformance tests on a cluster of three nodes (SHORT=yes: some minutes of them)
	@hack/e2e-conformance.sh

storage: ## Kubernetes' tests of storage drivers with the default StorageClass
	@SUITE=storage hack/e2e-conformance.sh

dual-stack: ## Kubernetes' tests of clusters with both IP families, on one
	@SUITE=dual-stack hack/e2e-conformance.sh

load-balancer: ## Kubernetes' tests of Services of type LoadBalancer
	@SUITE=load-balancer hack/e2e-conformance.sh

contract: ## Test this provider, Cluster API's in memory, the template and mutants of it with the contract kit (MUTANTS="IM12|IC" or none; uses no containers)
	@MODULE=contract/test hack/test-integration.sh ./...
	@MODULE=template hack/test-integration.sh ./...

memory: ## The life of a cluster in memory, and a restart of its manager (uses no containers)
	@hack/e2e-memory.sh life

memory-soak: ## 5,000 random operations and faults of clusters in memory, for 40 minutes at least (SOAK_OPERATIONS=5000 SOAK_DURATION=40m, SEED to repeat them)
	@hack/e2e-memory.sh soak

scale: ## Cluster API's Scale spec with clusters in memory (CLUSTERS=10; 200 before a release)
	@hack/e2e-memory.sh scale

dashboard: ## The page of capcon dashboard in Chromium, with the pictures of its guide (uses no containers; installs chromium as root on Debian; UPDATE=yes replaces the pictures)
	@hack/test-dashboard.sh

target: ## Provide images and components for another project's e2e suite, in _artifacts/e2e
	@hack/e2e-capi.sh prepare

example: ## The e2e suite of another project, in a module outside the repository
	@hack/e2e-capi.sh example

##@ Engines and hosts (as root, but list-many)

RemoteEngine: ## A cluster on an engine that capcon reaches through SSH alone
	@lab/engine/sshd.sh
	@$(CLUSTER) $@

RemoteEngineTLS: ## The same through TLS, on Docker
	@$(CLUSTER) $@

Engines: ## Clusters on a second engine, which is slow, gets other credentials, is reached through SSH and is lost, on Docker
	@lab/engine/sshd.sh
	@$(CLUSTER) $@

Span: ## One cluster over three hosts, of which that with the load balancer and another one are lost under load, on Docker
	@$(CLUSTER) $@

TwoEngines: ## Cluster API's QuickStart and KCPRemediation specs with machines on the engines of two hosts, on Docker
	@ENGINE=docker MANAGEMENT=plane FOCUS="Two engines" hack/e2e-capi.sh

list-many: ## List a thousand containers (LIST_SIZE=1000)
	@export ENGINE="$$(lab/engine/engine.sh name)" LIST_SIZE="$${LIST_SIZE:-1000}" FORMAT=standard-verbose && \
	  hack/test-go.sh "list-many-$$ENGINE" -count=1 -timeout=1h -v -run '^TestIntegrationConformance$$/containers/list_of_many$$' "./internal/engine/$$ENGINE"

newest-engines: ## Conformance suite, quick start and restarts on the engines of Debian 13, in a root file system of its own (DOCKERD=built: a newer dockerd)
	@$(MAKE) images
	@SCOPE=none RESTARTS=all lab/engine/debian13.sh make engine images-load test-integration test-quickstart

host: ## capcon on an emulated machine of Debian 13 with systemd and cgroup v2 (ENGINE=podman MODE=rootless ARCH=arm64 FROM=2 TIER=3; hours)
	@$(MAKE) images
	@$(MAKE) images IMAGES=busybox
	@ENGINE="$(subst auto,docker,$(ENGINE))" ARCH="$(if $(filter command,$(origin ARCH)),$(ARCH))" lab/hosts/e2e.sh

release: ## Make a release, install it from its files without Go, upgrade its plane, and install it with clusterctl (VERSION=v0.1.0 LIMIT=60)
	@VERSION="$(VERSION)" hack/e2e-release.sh

##@ Without an engine

mutation: ## Mutate the packages that keep the contract, and list the mutants that no test of theirs kills (PACKAGES=./internal/webhooks; hours)
	@lab/mutation/mutation.sh

fuzz: ## Look for input that exceeds a parser's limits, target by target (FUZZTIME=10m TARGET=Parse)
	@lab/mutation/fuzz.sh
