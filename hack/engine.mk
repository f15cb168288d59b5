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

# Included by the root Makefile.

# Of all targets that use an engine: docker, podman or auto, which is the first that
# answers, Docker before Podman.
ENGINE ?= auto
export ENGINE

##@ Engine (ENGINE=docker or podman chooses one, also below)

.PHONY: engine
engine: ## Make sure that a container engine runs: found, or installed and started
	@hack/engine/engine.sh start

.PHONY: engine-verify
engine-verify: ## Prove that the engine can run nodes, without pulling an image
	@hack/engine/engine.sh verify

.PHONY: engine-stop
engine-stop: ## Stop the engine that "make engine" started by hand
	@hack/engine/engine.sh stop
