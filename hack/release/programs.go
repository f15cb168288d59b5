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
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

const (
	module = "github.com/capi-samples/cluster-api-provider-container"
	// versionVariable is where programs have the version of their release.
	versionVariable = module + "/internal/release.version"
)

// platforms that users run capcon on.
func platforms() []string {
	return []string{"linux/amd64", "linux/arm64", "darwin/amd64", "darwin/arm64", "windows/amd64", "windows/arm64"}
}

// programName is the file of capcon for a platform.
func programName(platform string) string {
	name := "capcon-" + strings.ReplaceAll(platform, "/", "-")
	if strings.HasPrefix(platform, "windows/") {
		name += ".exe"
	}
	return name
}

func (r release) buildPrograms(ctx context.Context) error {
	for _, platform := range r.platforms {
		began := time.Now()
		system, architecture, _ := strings.Cut(platform, "/")
		target := filepath.Join(r.directory, programName(platform))
		// As the Makefile has them, so that packages are compiled once.
		build := exec.CommandContext(ctx, "go", "build", "-trimpath", "-buildvcs=false",
			"-ldflags=-s -w -X "+versionVariable+"="+r.version, "-o", target, "./cmd/capcon")
		build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOWORK=off", "GOFLAGS=-mod=readonly", "GOOS="+system, "GOARCH="+architecture)
		build.Stdout, build.Stderr = os.Stdout, os.Stderr
		if err := build.Run(); err != nil {
			return fmt.Errorf("build capcon for %s: %w", platform, err)
		}
		fmt.Printf("release: %s is built (%.0fs).\n", target, time.Since(began).Seconds())
	}
	return nil
}
