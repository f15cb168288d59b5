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

// Vulnerabilities scans the source of this module, or the Go programs in archives of
// images, for known vulnerabilities. It fails if there are any: in a source, those that are
// called, and in a program, those of its modules.
//
//	go run ./hack/vulnerabilities
//	go run ./hack/vulnerabilities ~/.cache/cluster-api-provider-container/images/*.tar
//
// VULNERABILITY_DB is the URL of a database; default: the one of Go.
package main

import (
	"archive/tar"
	"bytes"
	"context"
	"debug/buildinfo"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"golang.org/x/vuln/scan"

	"github.com/capi-samples/cluster-api-provider-container/hack/imagefiles"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	s := scanner{database: os.Getenv("VULNERABILITY_DB"), out: os.Stdout}
	err := s.run(ctx, os.Args[1:])
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "vulnerabilities:", err)
		os.Exit(1)
	}
}

// scanner prints what it finds.
type scanner struct {
	// database is its URL; empty = that of Go.
	database string
	out      io.Writer
}

func (s scanner) run(ctx context.Context, archives []string) error {
	if len(archives) == 0 {
		return s.scan(ctx, "the source", "./...")
	}
	var failed []error
	for _, archive := range archives {
		failed = append(failed, s.scanImage(ctx, archive))
	}
	return errors.Join(failed...)
}

// scan with govulncheck, whose error is that there is a finding, or another one.
func (s scanner) scan(ctx context.Context, name string, args ...string) error {
	if s.database != "" {
		args = append([]string{"-db=" + s.database}, args...)
	}
	if _, err := fmt.Fprintf(s.out, "vulnerabilities: scanning %s\n", name); err != nil {
		return fmt.Errorf("report: %w", err)
	}
	command := scan.Command(ctx, args...)
	command.Stdout, command.Stderr = s.out, s.out
	err := command.Start()
	if err == nil {
		err = command.Wait()
	}
	if err != nil {
		return fmt.Errorf("scan %s: %w", name, err)
	}
	return nil
}

// scanImage scans all Go programs in an image, of which there may be several by one name.
func (s scanner) scanImage(ctx context.Context, archive string) error {
	return imagefiles.Visit(archive, func(header *tar.Header, content io.Reader) error {
		if header.Mode&0o111 == 0 {
			return nil
		}
		program, err := io.ReadAll(content)
		if err != nil {
			return fmt.Errorf("read %s: %w", header.Name, err)
		}
		if _, err := buildinfo.Read(bytes.NewReader(program)); err != nil {
			return nil //nolint:nilerr // It is not written in Go.
		}
		return s.scanProgram(ctx, filepath.Base(archive)+": "+header.Name, program)
	})
}

func (s scanner) scanProgram(ctx context.Context, name string, program []byte) (err error) {
	file, err := os.CreateTemp("", "program-*")
	if err != nil {
		return fmt.Errorf("create file: %w", err)
	}
	defer func() { err = errors.Join(err, os.Remove(file.Name())) }()
	_, err = file.Write(program)
	if err = errors.Join(err, file.Close()); err != nil {
		return fmt.Errorf("write program: %w", err)
	}
	// Programs of images have no symbols: their modules are known, not what is called.
	return s.scan(ctx, name, "-mode=binary", "-scan=module", file.Name())
}
