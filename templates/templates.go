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

// Package templates holds the manifests that are shipped as files: the
// clusterctl flavors, the ClusterClass and the Pod network. It imports nothing but embed, so
// that image builds can use it too.
package templates

import _ "embed"

// Flannel is the manifest of the Pod network that lies in our node images, a
// text/template with the field PodSubnet.
//
//go:embed cni/flannel.yaml
var Flannel string

// ClusterClass is the manifest of the ClusterClass "container" and of the
// templates it refers to, without a namespace.
//
//go:embed clusterclass-container.yaml
var ClusterClass string
