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

// Provider writes template out as a provider of another name.
//
//	go run ./hack/provider --name frost --kind-prefix Frost ../cluster-api-provider-frost
package main

import (
	"errors"
	"flag"
	"fmt"
	"go/format"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"strings"
)

const (
	project       = "github.com/capi-samples/cluster-api-provider-container"
	templateGroup = "infrastructure.cluster.x-k8s.io"
	boilerplate   = "hack/boilerplate.go.txt"
)

// provider is what the template becomes.
type provider struct {
	// name is that for clusterctl, kindPrefix what the kinds begin with.
	name, kindPrefix string
	// module is the path of the Go module, and group that of the kinds.
	module, group string
	// contract is the directory of the contract kit, relative to the provider's once that is written.
	contract string
}

func main() {
	p := provider{}
	flag.StringVar(&p.name, "name", "", "Name of the provider, as clusterctl knows it, such as frost.")
	flag.StringVar(&p.kindPrefix, "kind-prefix", "", "What the kinds begin with; default: the name.")
	flag.StringVar(&p.module, "module", "", "Path of the Go module; default: example.com/cluster-api-provider-NAME.")
	flag.StringVar(&p.group, "group", templateGroup, "API group of the kinds.")
	template := flag.String("template", "template", "Directory of the template, with the contract kit next to it.")
	flag.Parse()
	if err := p.complete(*template); err != nil {
		fail(err)
	}
	if flag.NArg() != 1 {
		fail(errUsage)
	}
	count, err := p.write(os.DirFS(*template), flag.Arg(0))
	if err != nil {
		fail(err)
	}
	fmt.Printf("provider: %s has %s: %d lines to read.\n", flag.Arg(0), p.module, count)
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, "provider:", err)
	os.Exit(1)
}

var (
	errUsage      = errors.New("usage: provider --name NAME [--kind-prefix PREFIX] [--module PATH] [--group GROUP] DIRECTORY")
	errName       = errors.New("the name must have lower-case letters, digits and dashes, and begin with a letter")
	errKindPrefix = errors.New("the prefix of kinds must have letters and digits, and begin with an upper-case letter")
	errGroup      = errors.New("the group must be a domain, such as infrastructure.example.com")
	errNotEmpty   = errors.New("the directory is not empty")

	names  = regexp.MustCompile(`^[a-z]([a-z0-9-]*[a-z0-9])?$`)
	kinds  = regexp.MustCompile(`^[A-Z][A-Za-z0-9]*$`)
	groups = regexp.MustCompile(`^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)+$`)
)

// complete sets the defaults, and checks what is given.
func (p *provider) complete(template string) error {
	if p.kindPrefix == "" && p.name != "" {
		p.kindPrefix = strings.ToUpper(p.name[:1]) + strings.ReplaceAll(p.name[1:], "-", "")
	}
	if p.module == "" {
		p.module = "example.com/cluster-api-provider-" + p.name
	}
	switch {
	case !names.MatchString(p.name):
		return fmt.Errorf("%q: %w", p.name, errName)
	case !kinds.MatchString(p.kindPrefix):
		return fmt.Errorf("%q: %w", p.kindPrefix, errKindPrefix)
	case !groups.MatchString(p.group):
		return fmt.Errorf("%q: %w", p.group, errGroup)
	}
	var err error
	if p.contract, err = filepath.Abs(filepath.Join(template, "..", "contract")); err != nil {
		return fmt.Errorf("find the contract kit: %w", err)
	}
	return nil
}

// replacer renames what the template has. Of those that match at one place, the first counts.
func (p *provider) replacer() *strings.Replacer {
	lower := strings.ToLower(p.kindPrefix)
	dashed := func(group string) string { return strings.ReplaceAll(group, ".", "-") }
	return strings.NewReplacer(
		project+"/template", p.module,
		project+"/contract => ../contract", project+"/contract => "+p.contract,
		project, project,
		"// The kit that tests this provider is next to it.", "// The contract kit, in a checkout of cluster-api-provider-container.",
		"The cluster-api-provider-container Authors", "The "+path.Base(p.module)+" Authors",
		templateGroup, p.group,
		dashed(templateGroup), dashed(p.group),
		"samplecluster", lower+"cluster",
		"samplemachine", lower+"machine",
		"sample", p.name,
		"Sample", p.kindPrefix,
	)
}

// write writes the provider to a directory that is empty or does not exist. It returns the number of
// lines that its owner reads: without what is generated, mutants, license headers and blank lines.
func (p *provider) write(template fs.FS, directory string) (int, error) {
	if entries, err := os.ReadDir(directory); err == nil && len(entries) > 0 {
		return 0, fmt.Errorf("%s: %w", directory, errNotEmpty)
	}
	header, err := fs.ReadFile(template, boilerplate)
	if err != nil {
		return 0, fmt.Errorf("read license header: %w", err)
	}
	if p.contract, err = relative(directory, p.contract); err != nil {
		return 0, fmt.Errorf("find the contract kit: %w", err)
	}
	rename := p.replacer()
	count := 0
	err = fs.WalkDir(template, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case name == "bin" || name == "_artifacts":
			return fs.SkipDir
		case entry.IsDir():
			return nil
		}
		content, err := fs.ReadFile(template, name)
		if err != nil {
			return err
		}
		if !isGenerated(name) {
			count += lines(withoutHeader(string(content), string(header)))
		}
		text := rename.Replace(string(content))
		return writeFile(filepath.Join(directory, filepath.FromSlash(rename.Replace(name))), text)
	})
	if err != nil {
		return 0, fmt.Errorf("write provider: %w", err)
	}
	return count, nil
}

// relative is the path from a directory, which it creates, to another one, as go.mod has it: it is the
// same for all who have both next to each other.
func relative(from, to string) (string, error) {
	if err := os.MkdirAll(from, 0o755); err != nil {
		return "", err
	}
	for _, name := range []*string{&from, &to} {
		absolute, err := filepath.Abs(*name)
		if err != nil {
			return "", err
		}
		if *name, err = filepath.EvalSymlinks(absolute); err != nil {
			return "", err
		}
	}
	found, err := filepath.Rel(from, to)
	if found = filepath.ToSlash(found); err == nil && !strings.HasPrefix(found, "../") {
		found = "./" + found
	}
	return found, err
}

// withoutHeader is the text of a file without the license, which begins it as a comment of its language.
func withoutHeader(text, header string) string {
	if rest, found := strings.CutPrefix(text, header); found {
		return rest
	}
	const license = "# limitations under the License.\n"
	if _, rest, found := strings.Cut(text, license); found && strings.HasPrefix(text, "# Copyright") {
		return rest
	}
	return text
}

// lines of a text that are not blank.
func lines(text string) int {
	count := 0
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			count++
		}
	}
	return count
}

// writeFile writes a file. Other names sort differently: imports are put in order.
func writeFile(name, text string) error {
	content := []byte(text)
	if path.Ext(name) == ".go" {
		var err error
		if content, err = format.Source(content); err != nil {
			return fmt.Errorf("format %s: %w", name, err)
		}
	}
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		return err
	}
	return os.WriteFile(name, content, 0o644)
}

// isGenerated reports whether no one reads or changes a file of the template.
func isGenerated(name string) bool {
	for _, pattern := range []string{
		boilerplate, "go.mod", "go.sum", "e2e/go.mod", "e2e/go.sum", "mutants/*", "api/*/zz_generated.*", "config/crd/bases/*",
		"config/rbac/role.yaml", "config/webhook/manifests.yaml",
	} {
		if matched, err := path.Match(pattern, name); err == nil && matched {
			return true
		}
	}
	return false
}
