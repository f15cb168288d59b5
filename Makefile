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
# below hack; the versions of tools stand in hack/tool.sh. Suites and benchmarks have names
# instead of targets: hack/e2e.mk and lab/bench/bench.mk. lab/Makefile builds images and has engines.

SHELL := /bin/bash
.SHELLFLAGS := -o errexit -o nounset -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-builtin-rules --no-print-directory

# One set of build settings, that of the images, so that Go compiles each package once. The
# race detector, which needs cgo, is the exception (hack/test-go.sh).
export CGO_ENABLED := 0
export GOFLAGS := -trimpath -buildvcs=false

# The compiler takes 5 % less processor time with fewer garbage collections of its own.
GO_BUILD = GOGC=$${GOGC:-400} go build

# Of all targets that use an engine: docker, podman or auto, which is the first that
# answers, Docker before Podman.
ENGINE ?= auto
export ENGINE

##@ Develop

.PHONY: help
help: # this list
	@echo "Usage: make TARGET; ENGINE=docker or podman chooses the engine"
	@hack/help.sh $(MAKEFILE_LIST)

.PHONY: build
build: build-capcon build-manager ## Build bin/capcon and bin/manager

.PHONY: build-capcon
build-capcon:
	@$(GO_BUILD) -o bin/capcon ./cmd/capcon

.PHONY: build-manager
build-manager:
	@$(GO_BUILD) -ldflags="-s -w" -o bin/manager .

.PHONY: generate
generate: ## Write the generated files: deepcopy, CRDs, roles, manifests of the plane
	@hack/generate.sh

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
verify-vulnerabilities: images ## Fail on known vulnerabilities of the source and of images (VULNERABILITY_DB=URL)
	@go run ./hack/vulnerabilities
	@go run ./hack/vulnerabilities "$${XDG_CACHE_HOME:-$$HOME/.cache}"/cluster-api-provider-container/images/*.tar
	@$(MAKE) -C lab images-check

.PHONY: lint
lint: ## Check the words of all texts, style and architecture
	@hack/lint.sh

.PHONY: lint-fix
lint-fix: ## Fix what golangci-lint can fix by itself
	@hack/lint.sh --fix

.PHONY: docs
docs: ## Build the documentation's site, and check its links (DOCS_URL=https://... DOCS_VERSIONS=yes)
	@hack/docs.sh

.PHONY: docs-serve
docs-serve: ## Serve the documentation on this machine, and print its URL
	@hack/docs.sh serve

.PHONY: clean
clean: ## Remove what make built here (caches and the engine's images stay)
	rm -rf bin _artifacts

##@ Engine and images

.PHONY: engine
engine: ## Make sure that a container engine runs: found, or installed and started
	@$(MAKE) -C lab $@

.PHONY: engine-verify
engine-verify: ## Prove that the engine can run nodes, without pulling an image
	@$(MAKE) -C lab $@

.PHONY: engine-stop
engine-stop: ## Stop the engine that "make engine" started by hand
	@$(MAKE) -C lab $@

.PHONY: images
images: ## Build images offline, by default those of clusters (IMAGES="node management" ARCH=arm64)
	@$(MAKE) -C lab $@

.PHONY: images-load
images-load: ## The same, and load those that the engine does not have (KUBERNETES_VERSION=v1.35.4)
	@$(MAKE) -C lab $@

.PHONY: registry
registry: ## Run a registry with our images under their public names, for REGISTRY=127.0.0.1:5000
	@$(MAKE) -C lab $@

.PHONY: registry-stop
registry-stop: ## Remove that registry with what it holds
	@$(MAKE) -C lab $@

##@ Write a provider

.PHONY: provider
provider: ## Write a provider of your own from template (NAME=frost DIR=../frost KIND_PREFIX=Frost MODULE=... GROUP=...)
	@NAME="$(NAME)" DIR="$(DIR)" KIND_PREFIX="$(KIND_PREFIX)" MODULE="$(MODULE)" GROUP="$(GROUP)" hack/provider.sh

##@ Run

.PHONY: quickstart
quickstart: ## From nothing to a cluster of one control plane and one worker (REGISTRY=host:port)
	@hack/quickstart.sh

.PHONY: quickstart-down
quickstart-down: ## Remove that cluster and its management plane
	@hack/quickstart-down.sh

.PHONY: run
run: ## Run the controllers as processes here, with a management plane (KUBECONFIG=FILE: for that cluster)
	@hack/run.sh $(call given,KUBECONFIG)

##@ Test

.PHONY: test
test: ## Everything that proves it, on both engines, with the time of each part
	@hack/test.sh

.PHONY: test-unit
test-unit: ## Tests that need neither engine nor network (CI=yes: with the race detector)
	@hack/test-unit.sh

.PHONY: test-faults
test-faults: # kill the manager, refuse and lose answers at each call of the controllers, on the simulated engine
	@hack/test-faults.sh

.PHONY: test-images
test-images: # the image builder, the programs of our own in images, and the rest of lab
	@$(MAKE) -C lab test

.PHONY: test-integration
test-integration: ## Tests on a real engine: conformance, networks, load balancers, plane
	@hack/test-integration.sh

.PHONY: test-quickstart
test-quickstart: ## A cluster's whole life through capcon, on a real engine
	@hack/test-quickstart.sh

.PHONY: test-e2e
test-e2e: # QuickStart of Cluster API's e2e suite: with Docker on kind, with Podman on the plane
	@hack/e2e-capi.sh test

.PHONY: e2e
e2e: ## Run suites by name, on a real engine (RUN="Drift Move", and what e2e-list says)
	@$(MAKE) --file hack/e2e.mk $(RUN)

.PHONY: bench
bench: build-capcon ## Run a benchmark by name, by default up: compare capcon up with kind (RUN=up)
	@$(MAKE) -C lab $(or $(RUN),up)

.PHONY: e2e-list
e2e-list: ## List the suites and benchmarks, with their variables
	@hack/help.sh hack/e2e.mk lab/bench/bench.mk

##@ Release

.PHONY: release
release: ## Make all files of a release in _artifacts/release, and publish nothing (VERSION=v0.1.0 RELEASE_IMAGE=...)
	@VERSION="$(VERSION)" hack/release.sh

.PHONY: release-manifests
release-manifests: ## Write only what clusterctl takes from a release (RELEASE_VERSION=v0.1.0 RELEASE_IMAGE=...)
	@hack/release-manifests.sh

.PHONY: management-manifests
management-manifests: ## Write what clusterctl installs besides this provider to _artifacts/release
	@$(MAKE) -C lab $@
