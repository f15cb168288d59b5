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
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

// startedPhases are those of kubeadm init that have ended when kubeadm has written the ConfigMap kubeadm-config. The
// phases after them may run again: each creates what is missing and updates the rest.
var startedPhases = []string{"preflight", "certs", "kubeconfig", "etcd", "control-plane", "kubelet-start", "wait-control-plane"}

// writesSentinel is what Cluster API's kubeadm bootstrap provider adds to kubeadm init.
const writesSentinel = " && echo success > /run/cluster-api/bootstrap-success.complete"

var (
	plainWord = regexp.MustCompile(`^[A-Za-z0-9_./:,=-]+$`)
	// harmless are arguments of kubeadm init that it has in each phase.
	harmless = regexp.MustCompile(`^(--upload-certs|--skip-token-print|--skip-certificate-key-print|--?v=?[0-9]*|[0-9]+|--ignore-preflight-errors=.+)$`)
)

// initCompletion is how the node completes a kubeadm init that was interrupted after kubeadm had written its ConfigMap.
// The zero value is none: the data has no such command, or one that is not understood.
type initCompletion struct {
	// step is that of the command, config the path of kubeadm's configuration.
	step, config string
	// run is a script that completes the command and runs those after it.
	run string
}

// completion returns how to complete the kubeadm init among the commands, which are in the directory as files.
func completion(c userdata.Config, directory string) initCompletion {
	commands := c.Commands
	index := slices.IndexFunc(commands, func(command userdata.Command) bool { return strings.HasPrefix(command.Shell, "kubeadm init ") })
	if index < 0 {
		return initCompletion{}
	}
	text, hasSentinel := strings.CutSuffix(commands[index].Shell, writesSentinel)
	words := strings.Fields(text)
	config, arguments := "", []string{}
	for i := 2; i < len(words); i++ {
		value, isConfig := strings.CutPrefix(words[i], "--config=")
		switch {
		case !plainWord.MatchString(words[i]):
			return initCompletion{}
		case isConfig:
			config = value
		case words[i] == "--config" && i+1 < len(words) && plainWord.MatchString(words[i+1]):
			i++
			config = words[i]
		case harmless.MatchString(words[i]):
			arguments = append(arguments, words[i])
		default:
			return initCompletion{}
		}
	}
	// kubeadm reads the phases that the user skips from its configuration only where no flag names those to skip.
	userSkips, err := c.KubeadmSkipPhases(config)
	isOdd := func(phase string) bool { return !plainWord.MatchString(phase) }
	if err != nil || !path.IsAbs(config) || slices.ContainsFunc(userSkips, isOdd) {
		return initCompletion{}
	}
	skipped := slices.Concat(startedPhases, userSkips)
	command := strings.Join(append([]string{
		`kubeadm init --config "$CLUSTER_API_BOOTSTRAP/init/config"`, "--skip-phases=" + strings.Join(skipped, ","),
	}, arguments...), " ")
	if hasSentinel {
		command = "mkdir -p /run/cluster-api && " + command + writesSentinel
	}
	step := stepName(runcmd, index)
	return initCompletion{
		step: step, config: config,
		run: before(step) + command + "\n" + check + runCommands(runcmd, directory, commands, index+1),
	}
}
