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

# "make" alone lists what there is. What needs more than a few lines is a script
# below hack; the versions of tools stand in hack/tool.sh.

SHELL := /bin/bash
.SHELLFLAGS := -o errexit -o nounset -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

# One set of build settings, that of the images, so that Go compiles each package once. The
# race detector, which needs cgo, is the exception (hack/test-go.sh).
export CGO_ENABLED := 0
export GOFLAGS := -trimpath -buildvcs=false

##@ Help

.PHONY: help
help: ## Show this list
	@hack/help.sh $(MAKEFILE_LIST)

##@ Generate

.PHONY: generate
generate: ## Write the generated files: deepcopy, CRDs, roles, manifests of the plane
	@hack/generate.sh

##@ Verify

.PHONY: verify
verify: verify-headers verify-versions verify-modules verify-generated verify-platforms ## Check headers, versions, go.mod, generated files, and that capcon compiles everywhere

.PHONY: verify-headers
verify-headers:
	@hack/verify-headers.sh

.PHONY: verify-versions
verify-versions:
	@hack/verify-versions.sh

.PHONY: verify-modules
verify-modules:
	@hack/verify-modules.sh

.PHONY: verify-generated
verify-generated:
	@hack/verify-generated.sh

.PHONY: verify-platforms
verify-platforms: # the systems users run capcon on, other than this one
	@go run ./hack/platforms windows/amd64 darwin/arm64

.PHONY: verify-vulnerabilities
verify-vulnerabilities: images ## Fail on known vulnerabilities of the source, of the programs in images, and of Debian's packages there (VULNERABILITY_DB=URL)
	@go run ./hack/vulnerabilities
	@go run ./hack/vulnerabilities "$${XDG_CACHE_HOME:-$$HOME/.cache}"/cluster-api-provider-container/images/*.tar
	@$(IMAGE_BUILDER) -check-packages

.PHONY: lint
lint: ## Check the words of all texts, style and architecture
	@hack/lint.sh

.PHONY: lint-fix
lint-fix: ## Fix what golangci-lint can fix by itself
	@hack/lint.sh --fix

##@ Build

.PHONY: build
build: build-capcon build-manager ## Build bin/capcon and bin/manager

.PHONY: build-capcon
build-capcon:
	@go build -o bin/capcon ./cmd/capcon

.PHONY: build-manager
build-manager:
	@go build -ldflags="-s -w" -o bin/manager .

##@ Documentation

.PHONY: docs
docs: ## Build the documentation as a site in _artifacts/docs, and check its links (DOCS_URL=https://... DOCS_VERSIONS=yes: those of all tags too)
	@hack/docs.sh

.PHONY: docs-serve
docs-serve: ## Serve the documentation on this machine, and print its URL
	@hack/docs.sh serve

##@ Images

-include images/images.mk

##@ Release

.PHONY: release-manifests
release-manifests: ## Write what clusterctl takes from a release to _artifacts/release (RELEASE_VERSION=v0.1.0 RELEASE_IMAGE=...)
	@hack/release-manifests.sh

.PHONY: release
release: ## Make all files of a release in _artifacts/release, and publish nothing (VERSION=v0.1.0 RELEASE_IMAGE=...)
	@VERSION="$(VERSION)" hack/release.sh

##@ Engine

include hack/engine.mk

##@ Run

.PHONY: quickstart
quickstart: ## From nothing to a cluster of one control plane and one worker (REGISTRY=host:port)
	@hack/quickstart.sh

.PHONY: quickstart-down
quickstart-down: ## Remove that cluster and its management plane
	@hack/quickstart-down.sh

.PHONY: registry
registry: ## Run a registry with our images under their public names, for REGISTRY=127.0.0.1:5000
	@hack/registry.sh start

.PHONY: registry-stop
registry-stop: ## Remove that registry with what it holds
	@hack/registry.sh stop

##@ Test

.PHONY: test
test: ## Everything that proves it, on both engines, with the time of each part
	@hack/test.sh

.PHONY: test-unit
test-unit: ## Tests that need neither engine nor network, with the race detector
	@hack/test-unit.sh

.PHONY: test-faults
test-faults: ## Kill the manager, refuse and lose answers at each call of the controllers, on the simulated engine
	@hack/test-faults.sh

.PHONY: test-integration
test-integration: ## Tests on a real engine: conformance, networks, load balancers, plane
	@hack/test-integration.sh

.PHONY: test-e2e
test-e2e: ## QuickStart of Cluster API's e2e suite: with Docker on kind, with Podman on the plane
	@hack/e2e-capi.sh test

.PHONY: fuzz
fuzz: ## Look for input that exceeds a parser's limits, target by target (FUZZTIME=10m TARGET=Parse)
	@hack/fuzz.sh

.PHONY: test-quickstart
test-quickstart: ## A cluster's whole life through capcon, on a real engine
	@hack/test-quickstart.sh

.PHONY: e2e
ifdef RUN
e2e:
	@hack/test-quickstart.sh $(RUN)
else
e2e: e2e-quickstart e2e-tutorials e2e-drift e2e-remediation e2e-machine-pool e2e-topology e2e-topology-next e2e-cluster-class e2e-unreachable e2e-remote e2e-failure-domains e2e-external e2e-ignition e2e-own-bootstrap e2e-move e2e-restore e2e-orphans e2e-losses e2e-faults e2e-concurrent-nodes e2e-stable e2e-upgrade e2e-release e2e-concurrent e2e-manager-killed e2e-slow-engine e2e-full-disk e2e-restart e2e-interrupt e2e-contract ## Disturb containers, engines and bootstraps in all ways there are (RUN=Faults: one of the tests; hours; stops all that runs on the engine)
endif

.PHONY: e2e-quickstart
e2e-quickstart: ## The quick start's test, with the steps that "make test" runs on the other engine
	@ALL=yes hack/test-quickstart.sh

.PHONY: e2e-capi
e2e-capi: ## Cluster API's own e2e specs on this provider (MANAGEMENT=kind|plane FOCUS="KCP remediation" REPEAT=20)
	@hack/e2e-capi.sh

.PHONY: e2e-capi-results
e2e-capi-results: ## Write docs/results/e2e.md again, and name the cells that have neither a result nor a reason
	@go run ./hack/e2eresults -complete

.PHONY: e2e-conformance
e2e-conformance: ## Run Kubernetes' conformance tests on a cluster of three nodes (SHORT=yes: some minutes of them)
	@hack/e2e-conformance.sh

.PHONY: e2e-storage
e2e-storage: ## Run Kubernetes' tests of storage drivers with the default StorageClass
	@SUITE=storage hack/e2e-conformance.sh

.PHONY: e2e-load-balancer
e2e-load-balancer: ## Run Kubernetes' tests of Services of type LoadBalancer
	@SUITE=load-balancer hack/e2e-conformance.sh

.PHONY: e2e-tutorials
e2e-tutorials: ## Run the commands of the tutorials
	@hack/test-tutorials.sh

.PHONY: e2e-target
e2e-target: ## Provide images and components for another project's e2e suite, in _artifacts/e2e
	@hack/e2e-capi.sh prepare

.PHONY: e2e-example
e2e-example: ## Run the e2e suite of another project, in a module outside the repository
	@hack/e2e-capi.sh example

.PHONY: e2e-contract
e2e-contract: ## Mutate the packages that keep the contract, and list the mutants that no test of theirs kills (PACKAGES=./internal/webhooks; hours)
	@hack/e2e-contract.sh

.PHONY: e2e-drift
e2e-drift: ## Kill a hundred containers and see how soon their objects say so (KILLS=100)
	@KILLS="$${KILLS:-100}" hack/test-quickstart.sh Drift

.PHONY: e2e-remediation
e2e-remediation: ## Remove containers, have bootstraps of control planes fail, and delete a member of etcd that is no Node
	@hack/test-quickstart.sh Remediation RemediationOfBootstrap EtcdMemberWithoutNode

.PHONY: e2e-certificates
e2e-certificates: ## Let the certificates of three control planes end, and renew them
	@hack/test-quickstart.sh Certificates

.PHONY: e2e-failure-domains
e2e-failure-domains: ## Spread control planes over failure domains and pin workers to some
	@hack/test-quickstart.sh FailureDomains

.PHONY: e2e-external
e2e-external: ## A cluster with an external control plane endpoint
	@hack/test-quickstart.sh ExternalEndpoint

.PHONY: e2e-machine-pool
e2e-machine-pool: ## Scale, disturb, roll out and delete a machine pool
	@hack/test-quickstart.sh MachinePool

.PHONY: e2e-unreachable
e2e-unreachable: ## Make, scale and delete a cluster from a host that does not reach its network
	@hack/test-quickstart.sh UnreachableNetwork

.PHONY: e2e-ignition
e2e-ignition: ## A cluster whose nodes get Ignition, and one that its Ignition makes fail
	@hack/test-quickstart.sh Ignition

.PHONY: e2e-own-bootstrap
e2e-own-bootstrap: ## A control plane that starts from its user's own script, without kubeadm
	@hack/test-quickstart.sh OwnBootstrap

.PHONY: e2e-move
e2e-move: ## Move a cluster to another management plane and back, below clients that never pause
	@hack/test-quickstart.sh Move

.PHONY: e2e-concurrent
e2e-concurrent: ## Run up and down of several users concurrently, at random offsets (RUNS=20, SEED to repeat them)
	@hack/test-quickstart.sh ConcurrentPlane

.PHONY: e2e-concurrent-nodes
e2e-concurrent-nodes: ## Create ten workers together, of an image that the engine copies into each node's volume (NODES=10)
	@hack/test-quickstart.sh ConcurrentNodes

.PHONY: e2e-losses
e2e-losses: ## Lose status, labels and annotations of all objects at five points of a cluster's creation
	@hack/test-quickstart.sh Losses

.PHONY: e2e-faults
e2e-faults: ## Random faults of a cluster with data on a PersistentVolume: the same as "make e2e RUN=Faults" (COUNT=8, SEED to repeat them)
	@hack/test-quickstart.sh Faults

.PHONY: e2e-manager-killed
e2e-manager-killed: ## Kill the manager every 20 s for half an hour, while clusters come and go (PERIOD=20s LASTING=30m)
	@hack/test-quickstart.sh ManagerKilled

.PHONY: e2e-slow-engine
e2e-slow-engine: ## An engine that answers after 40 s, and takes 90 s and longer to create a container
	@SCALE=1 TIMEOUT=60m hack/test-integration.sh ./test/stress

.PHONY: e2e-restore
e2e-restore: ## Lose the management plane and restore the cluster into a new one, below clients that never pause
	@hack/test-quickstart.sh Restore

.PHONY: e2e-orphans
e2e-orphans: ## Two management planes with a cluster of one name: lose one of them, and collect what it left
	@hack/test-quickstart.sh Orphans

.PHONY: e2e-topology
e2e-topology: ## Change a cluster by its topology: metadata, variables, another Kubernetes
	@$(MAKE) images-load KUBERNETES_VERSION=v1.35.4
	@hack/test-quickstart.sh Topology

.PHONY: e2e-topology-next
e2e-topology-next: ## The same, upgraded to the newest Kubernetes
	@$(MAKE) images-load KUBERNETES_VERSION=v1.37.2
	@NEXT=yes hack/test-quickstart.sh Topology

.PHONY: e2e-cluster-class
e2e-cluster-class: ## A cluster from the ClusterClass alone, its Pod network too
	@hack/test-quickstart.sh ClusterClass

.PHONY: e2e-remote
e2e-remote: ## A cluster on an engine that capcon reaches through SSH alone, or TLS (as root)
	@hack/e2e-remote.sh

.PHONY: e2e-upgrade
e2e-upgrade: ## Upgrade capcon and its management plane from an earlier commit, with a live cluster (FROM=commit)
	@hack/e2e-upgrade.sh

.PHONY: e2e-release
e2e-release: ## Make a release, install it from its files without Go, upgrade its plane, and install it with clusterctl (VERSION=v0.1.0 LIMIT=60; as root)
	@VERSION="$(VERSION)" hack/e2e-release.sh

.PHONY: e2e-stable
e2e-stable: ## Take finalizers and owners away, and see that nothing is written while nothing happens (QUIET=5m)
	@hack/test-quickstart.sh Stable

.PHONY: e2e-restart
e2e-restart: ## Restart the engine and all containers below clusters of 1+1 and of 3+3
	@RESTARTS=all hack/test-quickstart.sh Restart
	@RESTARTS=all CONTROL_PLANES=3 WORKERS=3 hack/test-quickstart.sh Restart

.PHONY: e2e-full-disk
e2e-full-disk: ## An engine whose disk is full, in a root file system of its own (as root)
	@STORAGE=300m hack/engine/debian13.sh sh -c 'make engine && FORMAT=standard-verbose hack/test-go.sh full-disk -count=1 -run TestIntegrationFullDisk ./test/stress'

.PHONY: e2e-newest
e2e-newest: images ## Conformance suite, quick start and restarts on the engines of Debian 13, in a root file system of its own (as root; DOCKERD=built: a newer dockerd)
	@SCOPE=none RESTARTS=all hack/engine/debian13.sh make engine images-load test-integration test-quickstart

.PHONY: e2e-host
e2e-host: images ## capcon on an emulated machine of Debian 13 with systemd and cgroup v2 (ENGINE=podman MODE=rootless ARCH=arm64 FROM=2 TIER=3; as root; hours)
	@$(IMAGE_BUILDER) $(image_platform) busybox
	@ENGINE="$(subst auto,docker,$(ENGINE))" ARCH="$(if $(filter command,$(origin ARCH)),$(ARCH))" hack/host/e2e.sh

.PHONY: e2e-interrupt
e2e-interrupt: ## Stop the engine, on Podman the host, for a minute at ten points of each bootstrap (OPERATIONS=init POINTS="1 2")
	@POINTS="$${POINTS:-0 1 2 3 4 5 6 8 10 12 configmap}" hack/test-quickstart.sh EngineStopsDuringBootstrap

.PHONY: soak
soak: soak-list soak-members ## Long lists, long silence and 200 changes of the control plane (CHANGES=200 CLUSTERS=1 SILENCE=10m; hours)

.PHONY: soak-list
soak-list: ## List a thousand containers (LIST_SIZE=1000)
	@hack/soak-list.sh

.PHONY: soak-members
soak-members: ## Silent connections, and control planes that come and go below clients that never pause
	@hack/test-quickstart.sh Soak

##@ Benchmark

.PHONY: bench
bench: build-capcon ## Compare capcon up with kind and the floor, in turns (ROUNDS=5)
	@hack/bench.sh

.PHONY: bench-many
bench-many: build-capcon ## A plane with ten clusters that are created concurrently, and a list of 1000 containers (CLUSTERS=10; half an hour)
	@NAME=many hack/bench.sh -clusters "$(or $(CLUSTERS),10)"

.PHONY: bench-capd
bench-capd: build-capcon ## Compare with CAPD, both with Cluster API's stock managers (ROUNDS=3; an hour; restarts the engine)
	@hack/bench-capd.sh -output docs/results/bench-capd.md
	@go run ./hack/benchpicture docs/results/bench-capd.json >docs/results/bench-capd.svg

.PHONY: bench-idle
bench-idle: build-capcon ## What managers, a plane and nodes use while nothing happens
	@hack/bench-capd.sh -parts idle,capd,container,capcon -output docs/results/bench-idle.md

##@ Clean

.PHONY: clean
clean: ## Remove what make built here (caches and the engine's images stay)
	rm -rf bin _artifacts
