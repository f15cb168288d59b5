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
	"encoding/json"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	ctrl "sigs.k8s.io/controller-runtime"

	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// retire asks the daemon of this container to retire, and prints its answer.
func retire(args []string) error {
	var stateDir string
	flags := pflag.NewFlagSet("capcon-plane retire", pflag.ContinueOnError)
	flags.StringVar(&stateDir, "state-dir", plane.StateDir, "state directory of the daemon")
	if err := parse(flags, args); err != nil {
		return err
	}
	clusters, err := plane.Retire(ctrl.SetupSignalHandler(), stateDir)
	if err != nil {
		return err
	}
	if err := json.NewEncoder(os.Stdout).Encode(plane.RetireAnswer{Clusters: clusters}); err != nil {
		return fmt.Errorf("print response: %w", err)
	}
	return nil
}
