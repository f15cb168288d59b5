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

// Package update computes what "capcon up" changes in a cluster that exists, as a value
// that can be shown before anything is written: the fields, the Machines that are replaced
// or deleted by it, and the PersistentVolumes that are lost with them. Only what the
// request names is changed.
//
// It reads and writes nothing itself.
package update
