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

// Package bootstrap turns a machine's bootstrap data into what lets a node bootstrap itself, and reads back how that went.
//
// It owns three formats: the cloud-config of the bootstrap data secret (read), the archive uploaded into a created
// container (written), and the record a node keeps of its own bootstrap (written by the script in the archive, read
// here). It is pure: data in, values out. It talks to no engine and to no API server, starts nothing and keeps nothing,
// so that every decision is covered by a table or a golden file.
//
// It must not import the API types, Cluster API, Kubernetes, an engine or an engine's SDK: the standard library and a
// YAML library that edits nodes are all it needs.
//
// What one Secret may cost in memory and time has limits; see limits.go.
//
// Bootstrap data carries the private keys of a cluster's certificate authorities. No error of this package quotes the
// data, and what a node printed leaves this package only through [Redact].
//
//	config, err := bootstrap.Parse(data, format, bootstrap.Instance{ID: uid, Hostname: name})
//	config, err = config.Adapt(bootstrap.ContainerAdaptation())
//	archive, err := bootstrap.Archive(bootstrap.Input{Config: config, KubeletFlags: flags})
//	// upload archive to "/" between create and start; later download bootstrap.RecordPath:
//	result, err := bootstrap.ReadRecord(download)
package bootstrap
