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

package ignition

import (
	"crypto/sha512"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"net/url"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/reader"
)

// fileContents reads the contents of a file: a data: URL, perhaps compressed, perhaps with a hash to check.
func (p parser) fileContents(node *yaml.Node, path string) ([]byte, error) {
	var source, compression, hash string
	err := p.section(reader.Fields{
		"source":       reader.Into(&source, p.Content),
		"compression":  reader.Into(&compression, p.Line),
		"verification": reader.Into(&hash, p.hash),
	})(node, path)
	if err != nil {
		return nil, err
	}
	if scheme, _, found := strings.Cut(source, ":"); source != "" && (!found || !strings.EqualFold(scheme, "data")) {
		p.Refuse(path+".source", remoteScheme(source), "(remote files are not supported; use a data: URL)")
		return nil, nil
	}
	content, err := dataURL(source)
	switch {
	case err == nil && compression == "gzip":
		content, err = p.Gunzip(content)
	case compression != "" && compression != "gzip":
		p.Refuse(path+".compression", quote(compression), "(use gzip or none)")
	}
	if err != nil {
		return nil, p.Invalid(node, "%s.source: %s", path, err)
	}
	if sum := sha512.Sum512(content); hash != "" && !strings.EqualFold(hash, "sha512-"+hex.EncodeToString(sum[:])) {
		return nil, p.Invalid(node, "%s does not match the SHA-512 in %s.verification.hash", path, path)
	}
	return content, nil
}

// remoteScheme is what can be shown of a source: never the rest of a URL, which may hold a password.
func remoteScheme(source string) string {
	scheme, _, found := strings.Cut(source, ":")
	if found && slices.Contains([]string{"http", "https", "tftp", "s3", "oem"}, strings.ToLower(scheme)) {
		return scheme + ":"
	}
	return ""
}

func (p parser) hash(node *yaml.Node, path string) (hash string, err error) {
	err = p.Object(node, path, reader.Fields{"hash": reader.Into(&hash, p.Line)}, p.RefuseField)
	return hash, err
}

// dataURL decodes a data: URL (RFC 2397). Its errors do not quote the data.
func dataURL(source string) ([]byte, error) {
	if source == "" {
		return nil, nil
	}
	head, body, found := strings.Cut(source, ",")
	if !found {
		return nil, errors.New("data: URL has no comma")
	}
	text, err := url.PathUnescape(body)
	if err != nil {
		return nil, errors.New("data: URL has an invalid escape sequence")
	}
	if !strings.HasSuffix(strings.ToLower(head), ";base64") {
		return []byte(text), nil
	}
	content, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(text, "="))
	if err != nil {
		return nil, errors.New("data: URL has invalid base64")
	}
	return content, nil
}
