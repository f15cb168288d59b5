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
	"runtime"
	"slices"
	"strings"
	"testing"
)

func TestPlatform(t *testing.T) {
	t.Parallel()
	own, err := NewPlatform(runtime.GOARCH)
	if err != nil || own.suffix() != "" || own.Compiler() != "gcc" || own.environment() != nil || own.cEnvironment("") != nil {
		t.Errorf("this machine's platform is %+v (%v), want its own compiler, cache and libraries", own, err)
	}
	if _, err := NewPlatform("sparc"); err == nil || !strings.Contains(err.Error(), `"sparc"`) || !strings.Contains(err.Error(), runtime.GOARCH) {
		t.Errorf("an architecture that cannot be built gives %v, want its name and those that can", err)
	}
	if runtime.GOARCH == "arm64" {
		return
	}
	other, err := NewPlatform("arm64")
	if err != nil || other.suffix() != "-arm64" || other.Compiler() != "aarch64-linux-gnu-gcc" || other.emulator() != "qemu-aarch64" {
		t.Errorf("arm64 has %s, %s and %s (%v)", other.suffix(), other.Compiler(), other.emulator(), err)
	}
	environment := (Program{NeedsC: true}).environment(other)
	environment = append(environment, other.cEnvironment("/libraries")...)
	for _, want := range []string{
		"GOARCH=arm64", "CGO_ENABLED=1", "CC=aarch64-linux-gnu-gcc",
		"PKG_CONFIG_LIBDIR=/libraries/usr/lib/aarch64-linux-gnu/pkgconfig", "PKG_CONFIG_SYSROOT_DIR=/libraries",
	} {
		if !slices.Contains(environment, want) {
			t.Errorf("%s is missing in the environment of the compiler, %q", want, environment)
		}
	}
}
