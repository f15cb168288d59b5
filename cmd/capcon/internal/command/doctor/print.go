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
	"fmt"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/preflight"
)

// printDiagnosis for users.
func printDiagnosis(a *session.App, found diagnosis) error {
	a.Printf("Engine  %s", found.Engine)
	if found.Engine.Error == "" {
		printHost(a, found)
		if err := a.Table(images.Table(found.Images)); err != nil {
			return err
		}
	}
	errorCount := 0
	lines := []string{"CHECK\tRESULT\tMESSAGE AND REMEDY"}
	for _, item := range found.Items {
		if item.Severity == preflight.SeverityError {
			errorCount++
		}
		lines = append(lines,
			fmt.Sprintf("%s\t%s\t%s", item.Name, item.Severity, management.OneLine(item.Message)),
			"\t\t-> "+management.OneLine(item.Remedy))
	}
	if len(found.Items) > 0 {
		a.Printf("")
		if err := a.Table(lines); err != nil {
			return err
		}
	}
	a.Printf("\n%s", verdict(errorCount, len(found.Items)-errorCount))
	return nil
}

func printHost(a *session.App, found diagnosis) {
	const gibibyte = 1 << 30
	if found.Engine.ChosenBy != "" {
		a.Printf("        selected by: %s", found.Engine.ChosenBy)
	}
	for _, warning := range found.Engine.Warnings {
		a.Printf("        warning: %s", management.OneLine(warning))
	}
	host := found.Host
	rootless := ""
	if host.Rootless {
		rootless = ", rootless"
	}
	a.Printf("Host    %s, kernel %s, %s, %s, %.1f GiB of memory", host.OperatingSystem, host.Kernel, host.Architecture,
		output.Plural(host.CPUs, "CPU"), float64(host.MemoryBytes)/gibibyte)
	a.Printf("        cgroup v%s (%s), storage driver %s%s", host.CgroupVersion, host.CgroupDriver, host.StorageDriver, rootless)
	a.Printf("Checked for %s in total (--nodes N for another number)\n", output.Plural(found.Nodes, "node"))
}

func verdict(failed, warned int) string {
	switch {
	case failed > 0:
		return fmt.Sprintf("%s; %s.", keep(failed), output.Plural(warned, "warning"))
	case warned > 0:
		return fmt.Sprintf("All requirements are met, with %s.", output.Plural(warned, "warning"))
	}
	return "All checks passed."
}

func keep(count int) string {
	if count == 1 {
		return "1 check failed"
	}
	return fmt.Sprintf("%d checks failed", count)
}
