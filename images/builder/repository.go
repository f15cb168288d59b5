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
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"runtime"
	"strings"
)

// repositoryProgram is the artifact of a program of the repository's own module.
func (b *builder) repositoryProgram(ctx context.Context, name string, build program) (*artifact, error) {
	files, err := b.repositoryFiles(ctx, build)
	if err != nil {
		return nil, err
	}
	return &artifact{
		name: name, recipe: []string{"gobuild.go", "repository.go"},
		files:  files,
		values: append(build.arguments(), append(build.environment(), runtime.Version())...),
		build: func(ctx context.Context, w *workspace) error {
			return build.build(ctx, w, w.root)
		},
	}, nil
}

// repositoryFiles are the files of the repository that a program is compiled from.
func (b *builder) repositoryFiles(ctx context.Context, build program) ([]string, error) {
	list := command{
		dir: b.root, env: build.environment(),
		args: append([]string{"go", "list", "-deps", "-json=Dir,Standard,Module,GoFiles,EmbedFiles"}, build.packages...),
		hint: fmt.Sprintf("The image is built from %s of this repository.", strings.Join(build.packages, " ")),
	}
	output, err := list.output(ctx)
	if err != nil {
		return nil, err
	}
	files := []string{filepath.Join(b.root, "go.mod"), filepath.Join(b.root, "go.sum")}
	decoder := json.NewDecoder(strings.NewReader(output))
	for {
		var found struct {
			Dir                 string
			Module              *struct{ Main bool }
			GoFiles, EmbedFiles []string
		}
		if err := decoder.Decode(&found); errors.Is(err, io.EOF) {
			return files, nil
		} else if err != nil {
			return nil, fmt.Errorf("read the answer of go list: %w", err)
		}
		if found.Module == nil || !found.Module.Main {
			continue
		}
		for _, file := range append(found.GoFiles, found.EmbedFiles...) {
			files = append(files, filepath.Join(found.Dir, file))
		}
	}
}
