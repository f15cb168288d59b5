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

# The benchmarks that "make bench RUN=NAME" runs; "make e2e-list" prints them too. Included by
# lab/Makefile.

.PHONY: $(shell sed -n 's/^\([A-Za-z0-9-]*\):.*/\1/p' $(lastword $(MAKEFILE_LIST)))

##@ Benchmarks: make bench RUN=NAME

up: ## Compare capcon up with kind and the floor, in turns (ROUNDS=5)
	@bench/up.sh

first: ## make quickstart on a bare machine: in a root file system of its own, with empty caches (ROUNDS=2; half an hour)
	@bench/first.sh

many: ## A plane with ten clusters that are created concurrently (CLUSTERS=10; half an hour)
	@NAME=many bench/up.sh -clusters "$(or $(CLUSTERS),10)"

floor: ## A cluster made by hand on the node image, the floor of capcon up
	@bench/floor.sh --check

scale: ## How the cost of clusters grows, in memory and without an engine (CLUSTERS="10 30" WORKERS=3; RIVAL=capd compares with CAPD's)
	@bench/scale.sh

engines: ## Calls for a machine and the manager's memory, with 1, 10 and 100 engines in memory
	@cd .. && go test -count=1 -v -run '^TestCostOfEngines$$' ./test/hosts
