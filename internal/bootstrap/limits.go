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

import (
	"bytes"
	"fmt"

	"go.yaml.in/yaml/v3"
)

// Limits of bootstrap data. With them one Secret costs the manager at most some hundred MiB and some seconds, whatever
// it holds; see the fuzz targets. A Secret itself holds 1 MiB at most, which the API server sees to.
const (
	// maxDecodedBytes is the limit of all that is decoded from one Secret: rendered templates, decompressed and decoded
	// content, and every use of a YAML alias. User data of clouds is limited to some ten KiB.
	// +limit
	maxDecodedBytes = 4 << 20

	// maxNodes is the limit of YAML or JSON values in one Secret, as estimated by their punctuation: a value takes
	// two bytes of text and several hundred of memory. A megabyte of manifests as files has less than half as many.
	// +limit
	maxNodes = 100_000

	// maxEntries is the limit of keys and list items that are read of one Secret once its YAML aliases and merge keys
	// (<<) are expanded. A machine has some hundred of them.
	// +limit
	maxEntries = 20_000

	// maxMergeDepth is the limit of merge keys (<<) that refer to mappings with merge keys, which may form a cycle.
	// +limit
	maxMergeDepth = 8

	// maxJSONDepth is the limit of nested values in an Ignition configuration, which has eight.
	// +limit
	maxJSONDepth = 32
)

// Limits of the record that a node keeps of its bootstrap. The node's root user may put anything there; what the
// provider's script writes is below 10 KiB.
const (
	// maxRecordBytes is the limit of the archive of a record. Of a larger one the beginning is used.
	// +limit
	maxRecordBytes = 1 << 20

	// maxRecordEntries is the limit of files in a record.
	// +limit
	maxRecordEntries = 64

	// maxRecordFileBytes is the limit of each file of a record. Of a larger one the beginning is used.
	// +limit
	maxRecordFileBytes = 64 << 10

	// maxMessageBytes is the limit of the message about a bootstrap that failed, the end of its log included:
	// conditions are read by users and kept in etcd.
	// +limit
	maxMessageBytes = 1 << 10
)

var errTooLarge = fmt.Errorf("decoded data exceeds the limit of %d MiB", maxDecodedBytes>>20)

func errTooManyNodes() error {
	return &InvalidError{Problem: fmt.Sprintf("exceeds the limit of %d values", maxNodes)}
}

// spend counts bytes that were decoded from the Secret.
func (p *parser) spend(n int) error {
	if p.decoded += n; p.decoded > maxDecodedBytes {
		return errTooLarge
	}
	return nil
}

// visit counts a key or an item that is read.
func (p *parser) visit(node *yaml.Node) error {
	if p.entries++; p.entries > maxEntries {
		return p.invalid(node, "exceeds the limit of %d entries after aliases and merge keys are expanded", maxEntries)
	}
	return nil
}

// boundDocuments bounds the documents of kubeadm in all files together: each is parsed whenever something is asked of it.
func (p *parser) boundDocuments(config Config) error {
	nodes := 0
	for _, file := range config.Files {
		if mentionsKubeadm(file.Content) {
			nodes += yamlNodes(file.Content) + heavyNodes*bytes.Count(file.Content, []byte("\n---"))
		}
	}
	if nodes > maxNodes {
		return errTooManyNodes()
	}
	return nil
}

// heavyNodes is what a document of a stream counts for, and a directive such as %TAG, which the YAML parser compares with
// all before it.
const heavyNodes = 100

// yamlNodes estimates how many values a YAML text has, so that one with too many is refused before any is allocated. Of
// keys and items in flow style and in block style there is one for each mark of punctuation; those in block scalars,
// which the text of files is, count too.
func yamlNodes(data []byte) int {
	nodes := 1
	before := byte('\n')
	for i, c := range data {
		switch c {
		case '[', '{', ',':
			nodes++
		case '-', '?', ':':
			if i+1 == len(data) || isBreak(data[i+1]) || data[i+1] == ' ' {
				nodes++
			}
		case '%':
			if isBreak(before) {
				nodes += heavyNodes
			}
		}
		before = c
	}
	return nodes
}

// isBreak says that a byte may be (part of) a line break or a tab, in any encoding that YAML has.
func isBreak(c byte) bool {
	return c < ' ' || c >= 0x7f
}
