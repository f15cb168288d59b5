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

// Command capcon-plane is the program of the management plane's container: the
// daemon that runs etcd, kube-apiserver and the controllers, and, as its child,
// the manager that holds the controllers.
package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
	"k8s.io/component-base/logs"
	logsv1 "k8s.io/component-base/logs/api/v1"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
)

const usage = `Usage: capcon-plane COMMAND [FLAGS]

Commands:
  run      run the management plane (inside its container)
  manager  run the controllers (started by run)
  relay    connect standard input and output to ADDRESS:PORT
  retire   end the management plane for good if it has no Cluster; print those it has as JSON
`

var errUsage = errors.New("unknown command")

func main() {
	if err := dispatch(os.Args[1:]); err != nil && !errors.Is(err, pflag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "capcon-plane:", err)
		os.Exit(1)
	}
}

func dispatch(args []string) error {
	if len(args) == 0 {
		fmt.Fprint(os.Stderr, usage)
		return errUsage
	}
	switch args[0] {
	case "run":
		return runDaemon(args[1:])
	case "manager":
		return runManager(args[1:])
	case "retire":
		return retire(args[1:])
	case "relay":
		return relay(args[1:])
	case "help", "-h", "--help":
		fmt.Print(usage)
		return nil
	default:
		fmt.Fprint(os.Stderr, usage)
		return fmt.Errorf("%s: %w", args[0], errUsage)
	}
}

// parse reads the flags of a command and sets logging up.
func parse(flags *pflag.FlagSet, args []string) error {
	options := logs.NewOptions()
	logsv1.AddFlags(options, flags)
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 0 {
		return fmt.Errorf("unexpected argument %q", flags.Arg(0))
	}
	if err := logsv1.ValidateAndApply(options, nil); err != nil {
		return fmt.Errorf("set up logging: %w", err)
	}
	ctrl.SetLogger(klog.Background())
	return nil
}
