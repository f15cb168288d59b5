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

package build

import (
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
)

// RepositoryProgram is the artifact of a program of the repository's own module, or of the one in the directory that the
// program has as its Module.
func (b *Builder) RepositoryProgram(ctx context.Context, name string, build Program) (*Artifact, error) {
	files, err := b.repositoryFiles(ctx, build)
	if err != nil {
		return nil, err
	}
	return &Artifact{
		Name: name, Recipe: []string{"build/program.go", "build/repository.go"},
		Files:  files,
		Values: append(build.Arguments(), append(build.environment(b.Platform), runtime.Version())...),
		Build: func(ctx context.Context, w *Workspace) error {
			return build.build(ctx, w, filepath.Join(w.Root, build.Module))
		},
	}, nil
}

// mainFiles prints the files of the packages that are the main module's own, or of a module of the repository that takes
// the place of a published one.
const mainFiles = `{{with .Module}}{{if or .Main .Replace -}}
{{range $.GoFiles}}{{$.Dir}}/{{.}}
{{end}}{{range $.EmbedFiles}}{{$.Dir}}/{{.}}
{{end}}{{end}}{{end}}`

// repositoryFiles are the files of the repository that a program is compiled from.
func (b *Builder) repositoryFiles(ctx context.Context, build Program) ([]string, error) {
	directory := filepath.Join(b.Root, build.Module)
	output, err := Command{
		Dir: directory, Env: build.environment(b.Platform),
		Args: append([]string{"go", "list", "-deps", "-f", mainFiles}, build.Packages...),
		Hint: fmt.Sprintf("The image is built from %s of this repository.", strings.Join(build.Packages, " ")),
	}.Output(ctx)
	if err != nil {
		return nil, err
	}
	files := strings.FieldsFunc(output, func(r rune) bool { return r == '\n' })
	for _, module := range slices.Compact([]string{b.Root, directory}) {
		files = append(files, filepath.Join(module, "go.mod"), filepath.Join(module, "go.sum"))
	}
	return files, nil
}
