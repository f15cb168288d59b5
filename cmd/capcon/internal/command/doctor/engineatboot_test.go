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

package doctor

import (
	"context"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
)

func TestCheckBoot(t *testing.T) {
	t.Parallel()
	kernel, _ := os.ReadFile("/proc/sys/kernel/osrelease") // Empty elsewhere, as in the program.
	const (
		linger = "loginctl show-user --property=Linger --value"
		root   = "systemctl --system is-enabled simulated.service"
		user   = "systemctl --user is-enabled simulated.service"
	)
	local := engine.Info{Endpoint: "unix:///run/simulated.sock", Kernel: strings.TrimSpace(string(kernel)), Traits: simulated.Traits()}
	rootless, virtual := local, local
	rootless.Rootless, virtual.Kernel = true, "other"
	cases := map[string]struct {
		reason  string
		info    engine.Info
		systemd map[string]string
		want    map[string]string
	}{
		"Enabled":          {"Nothing is missing.", rootless, map[string]string{linger: "yes", user: "enabled"}, map[string]string{}},
		"Rootful":          {"Root's units start when the host boots.", local, map[string]string{root: "disabled", linger: "no"}, map[string]string{"EngineAtBoot": "sudo systemctl enable simulated.service"}},
		"Rootless":         {"A user's units need lingering too.", rootless, map[string]string{user: "disabled", linger: "no"}, map[string]string{"EngineAtBoot": "systemctl --user enable simulated.service", "Linger": "sudo loginctl enable-linger $USER"}},
		"NoSystemd":        {"Without systemd, nothing is known.", rootless, nil, map[string]string{}},
		"InVirtualMachine": {"This host's systemd says nothing about another.", virtual, map[string]string{root: "disabled"}, map[string]string{}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			systemd := func(_ context.Context, name string, args ...string) string {
				return tc.systemd[strings.Join(append([]string{name}, args...), " ")]
			}
			got := map[string]string{}
			for _, item := range checkBoot(t.Context(), systemd, tc.info) {
				got[item.Name] = item.Remedy
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestCheckWSL(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, kernel string
		want           int
	}{
		"WSL":     {"Microsoft's kernel.", "6.6.87.2-microsoft-standard-WSL2", 1},
		"First":   {"That of the first versions of WSL 2.", "4.19.104-Microsoft-standard", 1},
		"Debian":  {"Another one.", "6.12.48+deb13-amd64", 0},
		"Unknown": {"The engine does not say.", "", 0},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, len(checkWSL(tc.kernel))); diff != "" {
				t.Errorf("%s checkWSL(%q) (-want +got):\n%s", tc.reason, tc.kernel, diff)
			}
		})
	}
}
