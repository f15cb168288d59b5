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

package haproxy

// What the process is started with and asked.
const (
	// ConfigPath of the configuration; that of the stock image.
	ConfigPath = "/usr/local/etc/haproxy/haproxy.cfg"
	// StatusPort on 127.0.0.1 of the load balancer's own network namespace
	// answers GenerationPath and StatisticsPath, read-only.
	StatusPort = 8405
	// GenerationPath answers the generation of the configuration that the
	// answering process runs with.
	GenerationPath = "/generation"
	// StatisticsPath answers haproxy's statistics as CSV.
	StatisticsPath = "/stats;csv"
)

// Render returns the configuration as text. Equal configurations give equal
// texts, whatever the order of the backends. A value that cannot be written
// safely: *InvalidError.
func Render(config Config) (string, error) { return "", nil }

// Generation returns the generation that a text of Render carries: a hash
// of all the rest of it. Empty where the text carries none.
func Generation(text string) string { return "" }
