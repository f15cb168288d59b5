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

// Package haproxy turns ports and their backends, such as API servers, into the
// configuration of a haproxy, and haproxy's own statistics back into values.
//
// Everything here is a pure function. The package knows neither engines nor
// containers; package loadbalancer carries the text to a process and reads
// back what the process does with it. The text is understood by haproxy 2.6
// (Debian 12) and every later version up to 3.x.
//
//	backends := []haproxy.Backend{{Name: "node", Address: address, Port: 6443, Weight: haproxy.FullWeight}}
//	text, err := haproxy.Render(haproxy.Config{Frontends: []haproxy.Frontend{haproxy.ControlPlane(6443, backends)}})
package haproxy
