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

package readiness

import (
	"fmt"
	"slices"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/progress"
)

// Steps show a snapshot to the user of a command that only waits.
func Steps(snapshot management.Snapshot) []progress.Step {
	var steps []progress.Step
	for _, stage := range snapshot.Stages {
		steps = append(steps, progress.Step{Name: stage.Name, State: states[stage.Done], Detail: stage.Detail})
	}
	for _, machine := range snapshot.Machines {
		steps = append(steps, progress.Step{
			Name: machine.Name, State: states[machine.Ready], Detail: machine.Detail, Indented: true, Ended: "deleted",
		})
	}
	return steps
}

func snapshotSteps(snapshot management.Snapshot, standing []management.Trouble) []progress.Step {
	steps := Steps(snapshot)
	for _, trouble := range snapshot.Troubles {
		state := progress.Waiting
		if endsCommand(trouble) && slices.Contains(standing, trouble) {
			state = progress.Failed
		}
		steps = append(steps, progress.Step{
			Name: trouble.Object + " " + trouble.Reason, State: state, Indented: true, Ended: "resolved",
			Detail: management.OneLine(trouble.Message) + " -> " + remedyWhileWaiting(trouble),
		})
	}
	return steps
}

// endsCommand: neither time nor the command resolves it.
func endsCommand(trouble management.Trouble) bool { return !trouble.MayPass && trouble.Replace == "" }

// remedyWhileWaiting is the remedy for the user of a command that waits and replaces Machines.
func remedyWhileWaiting(trouble management.Trouble) string {
	switch {
	case trouble.Replace != "":
		return fmt.Sprintf("the Machine is replaced in %s", TroubleGrace)
	case endsCommand(trouble):
		return fmt.Sprintf("%s; the command ends if this lasts for %s", trouble.Remedy, TroubleGrace)
	}
	return trouble.Remedy
}

// states by whether the step is done.
var states = map[bool]progress.State{false: progress.Waiting, true: progress.Done}
