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

// Package capd has the templates that Cluster API's Docker provider is released and tested
// with, as "capcon convert" converts them.
package capd

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/api/types"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/yamlprocessor"

	"github.com/capi-samples/cluster-api-provider-container/internal/capd"
)

const (
	module         = "sigs.k8s.io/cluster-api/test"
	kustomizations = "e2e/data/infrastructure-docker/main"
)

// Module is where Go's module cache has the templates.
func Module(ctx context.Context) (string, error) {
	directory, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", module).Output()
	if err != nil {
		return "", fmt.Errorf("find %s: %w", module, err)
	}
	return strings.TrimSpace(string(directory)), nil
}

// Templates of the module, by path: files that are templates as they are, and kustomizations.
func Templates(directory string) (files, directories []string, err error) {
	for _, pattern := range []string{"infrastructure/docker/templates/*.yaml", "infrastructure/docker/examples/*.yaml", kustomizations + "/*.yaml"} {
		found, err := filepath.Glob(filepath.Join(directory, pattern))
		if err != nil {
			return nil, nil, fmt.Errorf("list templates: %w", err)
		}
		files = append(files, found...)
	}
	err = filepath.WalkDir(filepath.Join(directory, kustomizations), func(path string, _ fs.DirEntry, err error) error {
		if filepath.Base(path) == "kustomization.yaml" {
			directories = append(directories, filepath.Dir(path))
		}
		return err
	})
	if err != nil {
		return nil, nil, fmt.Errorf("list kustomizations: %w", err)
	}
	for _, list := range [][]string{files, directories} {
		for i := range list {
			if list[i], err = filepath.Rel(directory, list[i]); err != nil {
				return nil, nil, fmt.Errorf("list templates: %w", err)
			}
		}
	}
	return files, directories, nil
}

// ConvertTree converts all templates of the module into another directory, each file by itself.
func ConvertTree(from, to string) ([]capd.Finding, error) {
	var files []capd.File
	err := filepath.WalkDir(filepath.Join(from, kustomizations), func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := os.ReadFile(path)
		name, relErr := filepath.Rel(from, path)
		files = append(files, capd.File{Name: name, Content: string(content)})
		return errors.Join(err, relErr)
	})
	if err != nil {
		return nil, fmt.Errorf("read templates: %w", err)
	}
	converted, findings, err := capd.Convert(files)
	if err != nil {
		return nil, err
	}
	for _, file := range converted {
		path := filepath.Join(to, file.Name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(file.Content), 0o600)); err != nil {
			return nil, fmt.Errorf("write templates: %w", err)
		}
	}
	return findings, nil
}

// Build a kustomization.
func Build(directory string) (string, error) {
	options := krusty.MakeDefaultOptions()
	options.LoadRestrictions = types.LoadRestrictionsNone
	resources, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), directory)
	if err != nil {
		return "", fmt.Errorf("build %s: %w", directory, err)
	}
	text, err := resources.AsYaml()
	if err != nil {
		return "", fmt.Errorf("encode %s: %w", directory, err)
	}
	return string(text), nil
}

// Convert one template.
func Convert(name, template string) (string, []capd.Finding, error) {
	converted, findings, err := capd.Convert([]capd.File{{Name: name, Content: template}})
	if err != nil {
		return "", nil, err
	}
	return converted[0].Content, findings, nil
}

// Fill in the variables of a template with clusterctl.
func Fill(template string, variables map[string]string) (string, error) {
	text, err := yamlprocessor.NewSimpleProcessor().Process([]byte(template), func(name string) (string, error) {
		value, found := variables[name]
		if !found {
			return "", fmt.Errorf("no variable %s", name)
		}
		return value, nil
	})
	if err != nil {
		return "", fmt.Errorf("fill in variables: %w", err)
	}
	return string(text), nil
}
