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

// Package admission says what a management cluster would refuse of the variables of a Cluster,
// before there is one: what the schemas of the ClusterClass do not allow, as Cluster API checks
// it, and what the webhooks of this provider refuse of the objects that variables become. It is
// pure: no engine, no API server.
package admission
