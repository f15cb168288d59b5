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

// Package conversion converts objects of this provider between the versions of its API.
//
// The newest version is the hub: it is stored, and each older one is converted to and
// from it alone. A field that two versions share has the same name and form in both, so
// that an object is converted by way of its JSON. Fields that an older version lacks
// survive in an annotation of the converted object, as in Cluster API's own kinds, and a
// function per kind restores them: an old client that reads an object, changes it and
// writes it back loses nothing.
package conversion
