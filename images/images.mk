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

# Included by the root Makefile. images/README.md says how images are built.

# go -C changes the directory first, so that the builder's own module is used.
IMAGE_BUILDER = go -C images/builder run .

# Of the command line only: environments have an ARCH for other purposes.
image_platform = $(if $(filter command,$(origin ARCH)),-arch $(ARCH))
image_kubernetes = $(if $(KUBERNETES_VERSION),-kubernetes $(KUBERNETES_VERSION))

##@ Images

.PHONY: images
images: ## Build all images from Go modules and Debian packages, without a registry (ARCH=arm64)
	@$(IMAGE_BUILDER) $(image_platform)

.PHONY: image-node
image-node: ## Build the image of the clusters' nodes (KUBERNETES_VERSION=v1.35.4: that one too)
	@$(IMAGE_BUILDER) $(image_kubernetes) node

.PHONY: image-kube-proxy-previous
image-kube-proxy-previous: ## Build kube-proxy of the Kubernetes that upgrades begin with
	@$(IMAGE_BUILDER) kube-proxy-previous

.PHONY: image-haproxy
image-haproxy: ## Build the image of the load balancers
	@$(IMAGE_BUILDER) haproxy

.PHONY: image-plane
image-plane: ## Build the image of the embedded management plane
	@$(IMAGE_BUILDER) plane

.PHONY: image-registry
image-registry: ## Build the image of the tests' registry
	@$(IMAGE_BUILDER) registry

.PHONY: images-load
images-load: ## Build all images and load those the engine does not have (KUBERNETES_VERSION=v1.35.4: the node image of that version too)
	@engine="$$(hack/engine/engine.sh command)" && $(IMAGE_BUILDER) -load "$${engine}" $(image_kubernetes)

.PHONY: image-manager
image-manager: ## Build the image of the manager for a management cluster, and load it
	@engine="$$(hack/engine/engine.sh command)" && $(IMAGE_BUILDER) -load "$${engine}" manager

.PHONY: images-management
images-management: ## Build what a management cluster runs, and test it: the manager, Cluster API's managers, cert-manager
	@$(IMAGE_BUILDER) management
	@go -C images/cert-manager test ./...

.PHONY: images-management-previous
images-management-previous: ## Build the managers of the Cluster API that upgrades begin with
	@$(IMAGE_BUILDER) management-previous

.PHONY: management-manifests
management-manifests: ## Write what clusterctl installs on a management cluster besides this provider to _artifacts/release
	@hack/management-manifests.sh

##@ Test

.PHONY: test-images
test-images: ## Test the image builder and the programs of our own
	@go -C images/builder test ./...
	@go -C images/flannel test ./...
	@go -C images/kubernetes test ./collector

##@ Benchmark

.PHONY: bench-floor
bench-floor: ## Measure a cluster made by hand on the node image, the floor of capcon up
	@hack/bench-floor.sh --check
