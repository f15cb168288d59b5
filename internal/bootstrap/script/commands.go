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

package script

import (
	"fmt"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

// runcmd is the list of the last commands, whatever the format.
const runcmd = "runcmd"

// commands makes one step of a list of commands: they share one shell, so that cd, export and functions last, as in
// the one script cloud-init makes of them. Each lies in a file of its own that the shell reads, so that a command's
// quotes end with it, and the shell ends with the first command that fails.
func (p *planner) commands(list string, commands []userdata.Command) {
	if len(commands) == 0 {
		return
	}
	s := step{kind: "commands"}
	for i, command := range commands {
		if text := command.Script(); text != "" {
			s.put(commandFile(i), text+"\n")
		}
	}
	s.put("run", runCommands(list, p.commandsDirectory(), commands, 0))
	p.steps = append(p.steps, s)
}

// commandsDirectory is where the next step is in the node, if it is one of commands.
func (p *planner) commandsDirectory() string {
	s := step{kind: "commands"}
	return "$CLUSTER_API_BOOTSTRAP/steps/" + s.directory(len(p.steps))
}

func commandFile(index int) string { return fmt.Sprintf("%05d", index) }

// check ends a script with the exit code of its last command, if that failed.
const check = "CLUSTER_API_BOOTSTRAP_CODE=$?; [ \"$CLUSTER_API_BOOTSTRAP_CODE\" -eq 0 ] || exit \"$CLUSTER_API_BOOTSTRAP_CODE\"\n"

// before notes in a script that a command is next.
func before(name string) string {
	return fmt.Sprintf("/bin/sh \"$CLUSTER_API_BOOTSTRAP/bootstrap\" before '%s' || exit\n", name)
}

// runCommands is a script that runs the commands from an index on.
func runCommands(list, directory string, commands []userdata.Command, from int) string {
	var run strings.Builder
	for i := from; i < len(commands); i++ {
		if commands[i].Script() != "" {
			fmt.Fprintf(&run, "%s. \"%s/%s\"\n%s", before(stepName(list, i)), directory, commandFile(i), check)
		}
	}
	return run.String()
}

func stepName(list string, index int) string { return fmt.Sprintf("%s[%d]", list, index) }
