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
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// The code that readers write, next to the template's interface, and what a client of it can rely on.
const directoryUse = `package main

import (
	"context"
	"errors"
	"log"
	"os"
)

func main() {
	ctx := context.Background()
	var servers Servers = Directory{Path: os.Args[1]}
	check := func(ok bool, what string, err error) {
		if !ok {
			log.Fatalf("%s: %v", what, err)
		}
	}
	_, err := servers.Get(ctx, "a/b")
	check(errors.Is(err, ErrNotFound), "a server that does not exist", err)
	for _, size := range []string{"small", "large"} {
		err = servers.Create(ctx, Server{Name: "a/b", Size: size})
		check(err == nil, "create", err)
	}
	err = servers.Create(ctx, Server{Name: "../a", Size: "small"})
	check(err == nil, "create a second one", err)
	server, err := servers.Get(ctx, "a/b")
	check(err == nil && server.Size == "small" && server.Address != "", "the first server is kept", err)
	for range 2 {
		err = servers.Delete(ctx, "a/b")
		check(err == nil, "delete", err)
	}
	_, err = servers.Get(ctx, "a/b")
	check(errors.Is(err, ErrNotFound), "a deleted server", err)
	_, err = servers.Get(ctx, "../a")
	check(err == nil, "the other one", err)
}
`

var directoryCode = regexp.MustCompile("(?s)<!-- directory -->\n```go\n(.*?)```\n")

func TestDirectoryOfTheIntroductionRuns(t *testing.T) {
	t.Parallel()
	page := must.Get(os.ReadFile(filepath.Join(root, "docs", "book", "introduction.md")))(t)
	code := directoryCode.FindSubmatch(page)
	if code == nil {
		t.Fatal("the introduction has no code after the marker")
	}
	servers := must.Get(os.ReadFile(filepath.Join(root, "template", "servers", "servers.go")))(t)
	module, data := t.TempDir(), t.TempDir()
	inMain := func(code []byte) string {
		return regexp.MustCompile(`(?m)^package servers$`).ReplaceAllString(string(code), "package main")
	}
	for name, content := range map[string]string{
		"go.mod":       "module directory\n\ngo 1.26.0\n",
		"servers.go":   inMain(servers),
		"directory.go": inMain(code[1]),
		"main.go":      directoryUse,
	} {
		must.Succeed(t, os.WriteFile(filepath.Join(module, name), []byte(content), 0o600))
	}
	run := exec.CommandContext(t.Context(), "go", "run", ".", data)
	run.Dir = module
	if output, err := run.CombinedOutput(); err != nil {
		t.Errorf("%v:\n%s", err, output)
	}
	if left := must.Get(os.ReadDir(data))(t); len(left) != 1 {
		t.Errorf("Files of servers: %v", left)
	}
}
