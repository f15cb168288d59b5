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

package main

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

const checksumsName = "checksums.txt"

// writeChecksums of all files, as "sha256sum --check" reads them.
func (r release) writeChecksums() error {
	entries, err := os.ReadDir(r.directory) // sorted
	if err != nil {
		return fmt.Errorf("list the files of the release: %w", err)
	}
	var list strings.Builder
	for _, entry := range entries {
		if entry.Name() == checksumsName {
			continue
		}
		sum, err := sumFile(filepath.Join(r.directory, entry.Name()))
		if err != nil {
			return err
		}
		list.WriteString(sum + "  " + entry.Name() + "\n")
	}
	if err := os.WriteFile(filepath.Join(r.directory, checksumsName), []byte(list.String()), 0o644); err != nil {
		return fmt.Errorf("write checksums: %w", err)
	}
	return nil
}

func sumFile(path string) (sum string, err error) {
	file, err := os.Open(path)
	if err != nil {
		return "", fmt.Errorf("compute checksum: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	digest := sha256.New()
	if _, err := io.Copy(digest, file); err != nil {
		return "", fmt.Errorf("compute checksum of %s: %w", path, err)
	}
	return fmt.Sprintf("%x", digest.Sum(nil)), nil
}
