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

package reader

import (
	"bytes"
	"fmt"
)

// Limits of bootstrap data. With them one Secret costs the manager at most some hundred MiB and some seconds, whatever
// it holds; see the fuzz targets of package bootstrap. The API server limits a Secret to 1 MiB.
const (
	// MaxDecodedBytes is the limit of all that is decoded from one Secret: rendered templates, decompressed and decoded
	// content, and every use of a YAML alias. User data of clouds is limited to some ten KiB.
	// +limit
	MaxDecodedBytes = 4 << 20

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

// ErrTooLarge is returned for data that exceeds MaxDecodedBytes.
var ErrTooLarge = fmt.Errorf("decoded data exceeds the limit of %d MiB", MaxDecodedBytes>>20)

func errTooManyNodes() error {
	return &InvalidError{Problem: fmt.Sprintf("exceeds the limit of %d values", maxNodes)}
}

// CheckStreams refuses YAML streams that have too many values together: each is parsed whenever something is read from it.
func CheckStreams(streams ...[]byte) error {
	nodes := 0
	for _, stream := range streams {
		nodes += estimateNodes(stream) + heavyNodes*bytes.Count(stream, []byte("\n---"))
	}
	if nodes > maxNodes {
		return errTooManyNodes()
	}
	return nil
}

// heavyNodes is what a document of a stream counts for, and a directive such as %TAG, which the YAML parser compares with
// all before it.
const heavyNodes = 100

// estimateNodes estimates how many values a YAML text has, so that one with too many is refused before any is allocated. Of
// keys and items in flow style and in block style there is one for each mark of punctuation; those in block scalars,
// which the text of files is, count too.
func estimateNodes(data []byte) int {
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
