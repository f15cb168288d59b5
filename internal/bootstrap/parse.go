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

package bootstrap

import "errors"

// FormatCloudConfig is the format of a data secret without a format, and the only one that is supported.
const FormatCloudConfig = "cloud-config"

var errNotImplemented = errors.New("not implemented yet")

// Parse reads bootstrap data. An empty format means cloud-config. Data whose first line is "## template: jinja" is
// rendered with the instance's values first.
//
// The errors are *FormatError, *UnsupportedError and *InvalidError. None of them quotes the data, and none goes away
// by trying again with the same data.
func Parse(data []byte, format string, instance Instance) (Config, error) {
	return Config{}, errNotImplemented
}
