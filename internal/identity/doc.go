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

// Package identity names things: containers, networks and volumes on an
// engine, host names, provider IDs, and the labels that say whose they are.
//
// Everything here is a pure function of its arguments. The engine's labels
// and the objects' specs are the only record of ownership this provider
// keeps, so that status may be lost and a cluster may move between
// management clusters.
package identity
