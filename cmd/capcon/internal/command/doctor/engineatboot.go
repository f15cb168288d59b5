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
	"fmt"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/internal/preflight"
)

// checkBoot judges whether the engine's containers run from when the host boots until it
// stops. That is known only on the engine's host. systemd runs one of its commands.
func checkBoot(ctx context.Context, systemd func(context.Context, string, ...string) string, info engine.Info) []preflight.Item {
	if !plane.IsLocal(info) {
		return nil
	}
	manager, enable := "--system", "sudo systemctl enable "
	items := checkWSL(info.Kernel)
	if info.Rootless {
		manager, enable = "--user", "systemctl --user enable "
		if systemd(ctx, "loginctl", "show-user", "--property=Linger", "--value") == "no" {
			items = append(items, preflight.Item{
				Name: "Linger", Severity: preflight.SeverityWarning,
				Message: "systemd stops the rootless engine and its containers when the user logs out, and does not start it when the host boots",
				Remedy:  "sudo loginctl enable-linger $USER",
			})
		}
	}
	unit := info.Traits.BootUnit
	if systemd(ctx, "systemctl", manager, "is-enabled", unit) == "disabled" {
		items = append(items, preflight.Item{
			Name: "EngineAtBoot", Severity: preflight.SeverityWarning,
			Message: fmt.Sprintf("%s is disabled: clusters stay stopped after the host boots", unit),
			Remedy:  enable + unit,
		})
	}
	return items
}

// checkWSL judges a kernel of the Windows Subsystem for Linux, whose release is like
// 6.6.87.2-microsoft-standard-WSL2. Only what a user starts keeps its virtual machine running,
// and systemd's services are not that: https://github.com/microsoft/WSL/issues/9667
func checkWSL(kernel string) []preflight.Item {
	if !strings.Contains(strings.ToLower(kernel), "microsoft") {
		return nil
	}
	return []preflight.Item{{
		Name: "WSL", Severity: preflight.SeverityWarning,
		Message: "WSL stops the Linux distribution, with the engine and its containers, seconds after its last terminal is closed",
		Remedy: "set instanceIdleTimeout=-1 in section [general] and vmIdleTimeout=-1 in section [wsl2] of %UserProfile%\\.wslconfig, " +
			"run \"wsl --update\" and \"wsl --shutdown\"; or keep a terminal open",
	}}
}
