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

# The benchmarks that "make bench RUN=NAME" runs; "make e2e-list" prints them too.

MAKEFLAGS += --no-builtin-rules --no-print-directory
.NOTPARALLEL:
.PHONY: $(shell sed -n 's/^\([A-Za-z0-9-]*\):.*/\1/p' $(lastword $(MAKEFILE_LIST)))
.DEFAULT_GOAL := up

.DEFAULT:
	@echo "There is no benchmark $@. Known: make e2e-list" >&2; exit 1

##@ Benchmarks: make bench RUN=NAME

up: ## Compare capcon up with kind and the floor, in turns (ROUNDS=5)
	@lab/bench/up.sh

many: ## A plane with ten clusters that are created concurrently, and a list of 1000 containers (CLUSTERS=10; half an hour)
	@NAME=many lab/bench/up.sh -clusters "$(or $(CLUSTERS),10)"

floor: ## A cluster made by hand on the node image, the floor of capcon up
	@lab/bench/floor.sh --check

capd: ## Compare with CAPD, both with Cluster API's stock managers (ROUNDS=3; an hour; restarts the engine)
	@lab/bench/capd.sh -output docs/results/bench-capd.md
	@go run ./lab/bench/picture docs/results/bench-capd.json >docs/results/bench-capd.svg

idle: ## What managers, a plane and nodes use while nothing happens
	@lab/bench/capd.sh -parts idle,capd,container,capcon -output docs/results/bench-idle.md
