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
	"fmt"
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
		values: append(build.arguments(), append(build.environment(b.platform), runtime.Version())...),
		build: func(ctx context.Context, w *workspace) error {
			return build.build(ctx, w, w.root)
		},
	}, nil
}

// mainFiles prints the files of the packages that are the main module's own.
const mainFiles = `{{with .Module}}{{if .Main -}}
{{range $.GoFiles}}{{$.Dir}}/{{.}}
{{end}}{{range $.EmbedFiles}}{{$.Dir}}/{{.}}
{{end}}{{end}}{{end}}`

// repositoryFiles are the files of the repository that a program is compiled from.
func (b *builder) repositoryFiles(ctx context.Context, build program) ([]string, error) {
	output, err := command{
		dir: b.root, env: build.environment(b.platform),
		args: append([]string{"go", "list", "-deps", "-f", mainFiles}, build.packages...),
		hint: fmt.Sprintf("The image is built from %s of this repository.", strings.Join(build.packages, " ")),
	}.output(ctx)
	if err != nil {
		return nil, err
	}
	files := strings.FieldsFunc(output, func(r rune) bool { return r == '\n' })
	return append(files, filepath.Join(b.root, "go.mod"), filepath.Join(b.root, "go.sum")), nil
}
