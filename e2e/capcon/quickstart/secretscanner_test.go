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

package quickstart_test

import (
	"bytes"
	"encoding/base64"
	"encoding/binary"
	"encoding/pem"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// shortest value that is looked for: shorter ones are words.
const shortest = 8

// secretScanner finds the values of Secrets in texts that others may read, such as logs. It
// never prints a value, only whose it is.
type secretScanner struct {
	// byStart are values by their first bytes, so that a text is read once.
	byStart map[uint64][]value
	// public are parts of values that are not secret.
	public map[string]bool
}

type value struct {
	owner string
	bytes []byte
}

// newSecretScanner of no values.
func newSecretScanner() *secretScanner {
	return &secretScanner{byStart: map[uint64][]value{}, public: map[string]bool{}}
}

var (
	// blobs are lines of keys, keys in one line, and tokens.
	blobs = regexp.MustCompile(`[A-Za-z0-9+/_.-]{40,}={0,2}`)
	// bootstrapTokens are those that kubeadm joins with.
	bootstrapTokens = regexp.MustCompile(`\b[a-z0-9]{6}\.([a-z0-9]{16})\b`)
	// hashes of public keys name an authority and are no secret.
	hashes = regexp.MustCompile(`sha256:[0-9a-f]{64}`)
)

// Add a value that is secret: as a whole, in base64, and each part of it that
// is a key or a token. owner names it in reports. Certificates and public keys
// in it are not secret.
func (s *secretScanner) Add(owner string, content []byte) {
	if s.learnPublic(content) {
		return
	}
	trimmed := bytes.TrimSpace(content)
	s.add(owner, trimmed)
	s.add(owner+" in base64", []byte(base64.StdEncoding.EncodeToString(content)))
	for _, found := range bootstrapTokens.FindAllSubmatch(content, -1) {
		s.add("the token in "+owner, found[1])
	}
	for _, part := range blobs.FindAll(hashes.ReplaceAll(content, nil), -1) {
		if decoded, err := base64.StdEncoding.DecodeString(string(part)); err == nil && bytes.Contains(decoded, []byte("-----BEGIN ")) {
			s.Add("a part of "+owner, decoded)
			continue
		}
		s.add("a part of "+owner, part)
	}
}

// learnPublic records the lines of certificates and public keys, and reports
// whether there is nothing else.
func (s *secretScanner) learnPublic(content []byte) bool {
	// Within YAML they are indented.
	lines := strings.Split(string(content), "\n")
	for i := range lines {
		lines[i] = strings.TrimSpace(lines[i])
	}
	rest := []byte(strings.Join(lines, "\n"))
	only := len(bytes.TrimSpace(rest)) > 0
	for {
		block, after := pem.Decode(rest)
		if block == nil {
			return only && len(bytes.TrimSpace(rest)) == 0
		}
		if block.Type == "CERTIFICATE" || block.Type == "PUBLIC KEY" {
			for line := range strings.Lines(string(pem.EncodeToMemory(block))) {
				s.public[strings.TrimSpace(line)] = true
			}
		} else {
			only = false
		}
		rest = after
	}
}

func (s *secretScanner) add(owner string, content []byte) {
	if len(content) < shortest {
		return
	}
	start := binary.LittleEndian.Uint64(content)
	s.byStart[start] = append(s.byStart[start], value{owner, slices.Clone(content)})
}

// Len is how many values are looked for.
func (s *secretScanner) Len() int {
	n := 0
	for _, values := range s.byStart {
		n += len(values)
	}
	return n
}

// Find returns which values are in a text, each once, with the line.
func (s *secretScanner) Find(text []byte) []string {
	var found []string
	for i := 0; i+shortest <= len(text); i++ {
		for _, v := range s.byStart[binary.LittleEndian.Uint64(text[i:])] {
			if s.public[string(v.bytes)] || !bytes.HasPrefix(text[i:], v.bytes) {
				continue
			}
			line := 1 + bytes.Count(text[:i], []byte("\n"))
			found = append(found, fmt.Sprintf("%s (line %d)", v.owner, line))
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}
