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

package supportbundle

import (
	"archive/tar"
	"bytes"
	"cmp"
	"compress/gzip"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/internal/redact"
)

// bundle is a compressed archive on the disk that is written file by file.
type bundle struct {
	file    *os.File
	gzip    *gzip.Writer
	archive *tar.Writer
	// root is the directory of all files in the archive.
	root string
	now  time.Time
	// secrets that must not appear, besides what looks like one.
	secrets []string
	files   int
	// failures are what could not be collected, and why.
	failures []string
}

// createBundle creates a file that only its owner may read; one that exists is refused.
func createBundle(path, root string, now time.Time) (*bundle, error) {
	file, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if errors.Is(err, fs.ErrExist) {
		return nil, &input.Error{Problems: []input.Problem{{
			Field: "--file", Value: path, Reason: "file already exists", Remedy: "use another path, or remove the file",
		}}}
	}
	if err != nil {
		return nil, fmt.Errorf("create support bundle: %w", err)
	}
	compressed := gzip.NewWriter(file)
	return &bundle{file: file, gzip: compressed, archive: tar.NewWriter(compressed), root: root, now: now}, nil
}

// close the bundle, whose last file says what is missing. An error of an earlier
// write is returned here at the latest.
func (b *bundle) close() error {
	var err error
	if len(b.failures) > 0 {
		err = b.add("errors.txt", []byte(strings.Join(b.failures, "\n")+"\n"))
	}
	return errors.Join(err, b.archive.Close(), b.gzip.Close(), b.file.Close())
}

// note what could not be collected.
func (b *bundle) note(part string, err error) {
	if err != nil {
		b.failures = append(b.failures, part+": "+management.OneLine(redact.Text(err.Error(), b.secrets...)))
	}
}

// yaml adds objects as documents of one file.
func (b *bundle) yaml(name string, objects ...unstructured.Unstructured) error {
	var content bytes.Buffer
	for _, object := range objects {
		document, err := yaml.Marshal(management.Redact(object.Object, b.secrets))
		if err != nil {
			return fmt.Errorf("write %s: %w", name, err)
		}
		content.WriteString("---\n")
		content.Write(document)
	}
	return b.add(name, content.Bytes())
}

// json adds a value as JSON.
func (b *bundle) json(name string, value any) error {
	content, err := json.Marshal(value)
	var fields any
	if err == nil {
		decoder := json.NewDecoder(bytes.NewReader(content))
		decoder.UseNumber()
		err = decoder.Decode(&fields)
	}
	if err == nil {
		content, err = json.MarshalIndent(management.Redact(fields, b.secrets), "", "  ")
	}
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return b.add(name, append(content, '\n'))
}

// add a file without secrets.
func (b *bundle) add(name string, content []byte) error {
	err := b.archive.WriteHeader(&tar.Header{
		Name: b.root + "/" + name, Mode: 0o600, Size: int64(len(content)), ModTime: b.now,
	})
	_, failed := b.archive.Write(content)
	if err = cmp.Or(err, failed); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	b.files++
	return nil
}
