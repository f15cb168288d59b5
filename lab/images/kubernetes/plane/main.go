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

// Command plane is kube-apiserver and kube-controller-manager of the management plane,
// chosen by the name it is started as. They are one file, so the parts of Kubernetes that
// both have are in memory once.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	// Kubernetes' own programs have it for time zones of CronJobs.
	_ "time/tzdata"

	"k8s.io/component-base/cli"
	// The same: logs as JSON, metrics of clients and of the version.
	_ "k8s.io/component-base/logs/json/register"
	_ "k8s.io/component-base/metrics/prometheus/clientgo"
	_ "k8s.io/component-base/metrics/prometheus/version"
	apiserver "k8s.io/kubernetes/cmd/kube-apiserver/app"
	controllermanager "k8s.io/kubernetes/cmd/kube-controller-manager/app"

	"github.com/capi-samples/cluster-api-provider-container/images/kubernetes/collector"
)

func main() {
	go collector.Run()
	switch name := filepath.Base(os.Args[0]); name {
	case "kube-apiserver":
		os.Exit(cli.Run(apiserver.NewAPIServerCommand()))
	case "kube-controller-manager":
		os.Exit(cli.Run(controllermanager.NewControllerManagerCommand()))
	default:
		fmt.Fprintf(os.Stderr, "%s: start it as kube-apiserver or kube-controller-manager\n", name)
		os.Exit(1)
	}
}
