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

// Package bootstrap reads a machine's bootstrap data, whatever its format.
//
// Its packages are pure: data in, values out. cloudconfig and ignition read the data Secret with package reader into
// userdata; script writes the archive that is uploaded into a created container; record reads what the node keeps of its
// own bootstrap. They talk to no engine and to no API server, start nothing and keep nothing, so that every decision is
// covered by a table or a golden file. They must not import the API types, Cluster API, Kubernetes, an engine or an
// engine's SDK.
//
// What one Secret may cost in memory and time has limits; see limits.go of package reader. Bootstrap data carries the
// private keys of a cluster's certificate authorities: no error quotes the data, and what a node printed leaves these
// packages only through package redact.
package bootstrap

import (
	"bytes"
	"fmt"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/cloudconfig"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/ignition"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/reader"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

// Parse reads bootstrap data, perhaps compressed. An empty format means cloud-config.
//
// The errors are those of an unknown format, *reader.UnsupportedError and *reader.InvalidError. None of them quotes the
// data, and none goes away by trying again with the same data.
func Parse(data []byte, format string, instance userdata.Instance) (config userdata.Config, err error) {
	r := new(reader.Reader)
	if data, err = decompress(r, data); err != nil {
		return userdata.Config{}, err
	}
	switch format {
	case "", userdata.FormatCloudConfig:
		config, err = cloudconfig.Parse(r, string(data), instance)
	case userdata.FormatIgnition:
		config, err = ignition.Parse(r, data)
	default:
		err = fmt.Errorf("bootstrap data format %.40q is not supported; use %s or %s", format, userdata.FormatCloudConfig, userdata.FormatIgnition)
	}
	if err == nil {
		err = config.CheckDocuments()
	}
	if err != nil {
		return userdata.Config{}, err
	}
	return config, nil
}

// decompress returns data as it was before it was compressed, and refuses data that is empty.
func decompress(r *reader.Reader, data []byte) (_ []byte, err error) {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		if data, err = r.Gunzip(data); err != nil {
			return nil, &reader.InvalidError{Problem: "it is compressed, and " + err.Error()}
		}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, &reader.InvalidError{Problem: "empty"}
	}
	return data, nil
}
