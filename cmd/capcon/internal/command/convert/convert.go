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

// Package convert is capcon convert.
package convert

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/capd"
)

const standardInput = "-"

// Command is capcon convert.
func Command(a *session.App) *cobra.Command {
	var paths []string
	var inPlace bool
	command := &cobra.Command{
		Use:   "convert --file FILE...",
		Short: "Convert manifests of Cluster API's Docker provider (CAPD) to this provider's",
		Long: "Convert the kinds Docker* and Dev* of Cluster API's Docker provider, what refers to them, and the\n" +
			"patches of ClusterClasses and kustomizations. Other objects, comments and ${VARIABLES} stay as they\n" +
			"are. Needs no engine. The manifests are printed; what has no equivalent is reported on standard\n" +
			"error, with exit code 0. An unknown kind of infrastructure is an error: nothing is printed or written.",
		Example: "  capcon convert -f capd.yaml > cluster.yaml\n  clusterctl generate cluster demo --flavor development | capcon convert -f -\n" +
			"  capcon convert -f templates/ --in-place",
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			if inPlace && slices.Contains(paths, standardInput) {
				return errors.New("--in-place needs files; standard input cannot be written")
			}
			files, err := read(a.In, paths)
			if err != nil {
				return err
			}
			converted, findings, err := capd.Convert(files)
			if err != nil {
				return err
			}
			for _, finding := range findings {
				a.Errorf("%s", finding)
			}
			if len(findings) > 0 {
				a.Errorf("%s to check.", output.Plural(len(findings), "field"))
			} else if slices.Equal(files, converted) {
				a.Errorf("Nothing to convert: no manifest is of CAPD or refers to it.")
			}
			if inPlace {
				return write(files, converted)
			}
			return printAll(a.Out, converted)
		},
	}
	command.Flags().StringArrayVarP(&paths, "file", "f", nil, "file to convert, directory with such files (.yaml, .yml), or - for standard input; can be repeated")
	command.Flags().BoolVar(&inPlace, "in-place", false, "write the files instead of printing the manifests")
	if err := command.MarkFlagRequired("file"); err != nil {
		panic(err) // the flag is there
	}
	return command
}

func read(in io.Reader, paths []string) ([]capd.File, error) {
	var files []capd.File
	for _, path := range paths {
		read := readTree
		if path == standardInput {
			read = func(string) ([]capd.File, error) { return readInput(in) }
		}
		found, err := read(path)
		if err != nil {
			return nil, err
		}
		files = append(files, found...)
	}
	if len(files) == 0 {
		return nil, fmt.Errorf("no files .yaml or .yml in %s", strings.Join(paths, ", "))
	}
	return files, nil
}

func readInput(in io.Reader) ([]capd.File, error) {
	content, err := io.ReadAll(in)
	if err != nil {
		return nil, fmt.Errorf("read standard input: %w", err)
	}
	return []capd.File{{Name: "standard input", Content: string(content)}}, nil
}

// readTree reads a file, or the files .yaml and .yml below a directory.
func readTree(root string) (files []capd.File, err error) {
	err = filepath.WalkDir(root, func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || name != root && filepath.Ext(name) != ".yaml" && filepath.Ext(name) != ".yml" {
			return err
		}
		content, err := os.ReadFile(name)
		files = append(files, capd.File{Name: name, Content: string(content)})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read manifests: %w", err)
	}
	return files, nil
}

// write the files that changed.
func write(files, converted []capd.File) error {
	for i, file := range converted {
		if file.Content == files[i].Content {
			continue
		}
		if err := os.WriteFile(file.Name, []byte(file.Content), 0o600); err != nil { // The file keeps its mode.
			return fmt.Errorf("write manifests: %w", err)
		}
	}
	return nil
}

func printAll(out io.Writer, files []capd.File) error {
	texts := make([]string, len(files))
	for i, file := range files {
		texts[i] = strings.TrimSuffix(file.Content, "\n") + "\n"
	}
	if _, err := io.WriteString(out, strings.Join(texts, "---\n")); err != nil {
		return fmt.Errorf("print manifests: %w", err)
	}
	return nil
}
