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

// Release adds to the directory of a release what is made of this module: capcon for all
// systems, SBOMs of it and of the images that are there, the licenses of others, and
// the notes. The same commit gives the same files.
//
//	go run ./hack/release -version v0.1.0 -commit 0a1b2c3d4 -date 1767225600 _artifacts/release/infrastructure-container/v0.1.0
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"time"
)

// release is what the files of a release have in common.
type release struct {
	version, directory string
	// commit that it is built from, and its date.
	commit string
	date   time.Time
	// platforms that capcon is built for.
	platforms []string
	// licenses finds those of the modules, by their package URLs.
	licenses licenses
	modules  map[string]*usedModule
}

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	err := run(ctx)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context) error {
	r := release{modules: map[string]*usedModule{}}
	flag.StringVar(&r.version, "version", "", "version, such as v0.1.0")
	flag.StringVar(&r.commit, "commit", "", "commit that the release is built from")
	builds := flag.String("platforms", "", "platforms that a trial builds capcon for, such as linux/amd64; default: all")
	check := flag.Bool("check", false, "only check that the clone in this directory is what the version is made from")
	date := flag.Int64("date", 0, "date of the commit, in seconds")
	flag.Parse()
	r.date, r.directory = time.Unix(*date, 0).UTC(), flag.Arg(0)
	r.platforms = platforms()
	if *builds != "" {
		r.platforms = strings.Fields(*builds)
	}
	if err := checkPlatforms(r.version, r.platforms); err != nil {
		return err
	}
	if *check {
		s, err := readSource(ctx, ".")
		if err != nil {
			return err
		}
		return s.check(r.version)
	}
	if r.version == "" || r.commit == "" || r.directory == "" {
		return errors.New("-version, -commit and the directory are needed")
	}
	var err error
	if r.licenses, err = newLicenses(ctx); err != nil {
		return err
	}
	return r.write(ctx)
}

func (r *release) write(ctx context.Context) error {
	if err := r.buildPrograms(ctx); err != nil {
		return err
	}
	if err := r.describePrograms(ctx); err != nil {
		return err
	}
	if err := r.describeImages(ctx); err != nil {
		return err
	}
	if err := r.writeLicenses(); err != nil {
		return err
	}
	return r.writeNotes("CHANGELOG.md")
}
