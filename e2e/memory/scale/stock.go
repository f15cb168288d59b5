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
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"

	utilyaml "sigs.k8s.io/cluster-api/util/yaml"

	"github.com/capi-samples/cluster-api-provider-container/internal/plane/manifests"
)

const (
	// startTimeout and stopTimeout are for a busy host.
	startTimeout, stopTimeout = 5 * time.Minute, time.Minute
	// firstMetricsPort is that of the first manager; each has the next one.
	firstMetricsPort = 18081
)

// managerSpec is one manager: its kustomization, and its program, whose name Linux cuts after 15 characters.
type managerSpec struct {
	config, program string
	args            func(process managerProcess) []string
}

// managerProcess is where a manager serves.
type managerProcess struct {
	webhookPort             int
	certificates, metricsAt string
}

// stockArgs are those of all managers of Cluster API.
func stockArgs(process managerProcess) []string {
	return []string{
		"--webhook-port=" + strconv.Itoa(process.webhookPort), "--webhook-cert-dir=" + process.certificates, "--health-addr=" + net.JoinHostPort(loopback, "0"),
		"--diagnostics-address=" + process.metricsAt, "--insecure-diagnostics",
		"--feature-gates=ClusterTopology=true,MachineTaintPropagation=true,KubeadmBootstrapFormatIgnition=true",
	}
}

// stockManagers of Cluster API, which every provider needs.
func stockManagers(opts options) []managerSpec {
	var stock []managerSpec
	for _, path := range [][]string{{"core"}, {"bootstrap", "kubeadm"}, {"controlplane", "kubeadm"}} {
		stock = append(stock, managerSpec{
			config:  filepath.Join(opts.clusterAPI, filepath.Join(path...), "config", "default"),
			program: filepath.Join(opts.stock, path[0]), args: stockArgs,
		})
	}
	return stock
}

// stock is an API server with managers, each a process of its own.
type stock struct {
	api       *envtest.Environment
	config    *rest.Config
	directory string
	// metrics of each manager.
	metrics []string

	certificates []envtest.WebhookInstallOptions
	cancel       context.CancelCauseFunc
	background   sync.WaitGroup
}

// startStock starts them. The returned context ends with the cause when one of them does.
func startStock(ctx context.Context, opts options, directory string, managers ...managerSpec) (*stock, context.Context, error) {
	s := &stock{directory: directory}
	ctx, s.cancel = context.WithCancelCause(ctx)
	if err := s.start(ctx, opts, managers); err != nil {
		return nil, nil, errors.Join(err, s.stop())
	}
	return s, ctx, nil
}

func (s *stock) start(ctx context.Context, opts options, managers []managerSpec) error {
	if err := os.MkdirAll(s.directory, 0o700); err != nil {
		return fmt.Errorf("create directory: %w", err)
	}
	ctrl.SetLogger(logr.Discard())
	s.api = &envtest.Environment{BinaryAssetsDirectory: opts.binaries, ControlPlaneStartTimeout: startTimeout, ControlPlaneStopTimeout: stopTimeout}
	s.api.ControlPlane.GetAPIServer().Configure().Set("advertise-address", loopback)
	var err error
	if s.config, err = s.api.Start(); err != nil {
		return fmt.Errorf("start kube-apiserver and etcd: %w", err)
	}
	kubeconfig := filepath.Join(s.directory, "kubeconfig")
	if err := os.WriteFile(kubeconfig, s.api.KubeConfig, 0o600); err != nil {
		return fmt.Errorf("write kubeconfig: %w", err)
	}
	// It collects objects whose owners are gone.
	if err := s.run(ctx, filepath.Join(opts.binaries, "kube-controller-manager"), nil, "--kubeconfig="+kubeconfig,
		"--controllers=garbage-collector-controller,namespace-controller", "--leader-elect=false", "--bind-address="+loopback, "--secure-port=20257",
		"--cert-dir="+s.directory, "--authentication-skip-lookup=true"); err != nil {
		return err
	}
	for i, spec := range managers {
		if err := s.startManager(ctx, spec, kubeconfig, net.JoinHostPort(loopback, strconv.Itoa(firstMetricsPort+i))); err != nil {
			return err
		}
	}
	return nil
}

// startManager installs its CRDs and webhooks, and starts it.
func (s *stock) startManager(ctx context.Context, spec managerSpec, kubeconfig, metrics string) error {
	local := envtest.WebhookInstallOptions{LocalServingHost: loopback}
	if err := local.PrepWithoutInstalling(); err != nil {
		return fmt.Errorf("prepare webhooks: %w", err)
	}
	s.certificates = append(s.certificates, local)
	objects, err := readKustomization(spec.config)
	if err != nil {
		return fmt.Errorf("build %s: %w", spec.config, err)
	}
	server := manifests.Server{URL: "https://" + net.JoinHostPort(loopback, strconv.Itoa(local.LocalServingPort)), CABundle: local.LocalServingCAData}
	if err := errors.Join(server.Serve(objects), manifests.Install(ctx, s.config, objects)); err != nil {
		return fmt.Errorf("install %s: %w", spec.config, err)
	}
	s.metrics = append(s.metrics, metrics)
	// The addresses of clusters of DevClusters are that of the Pod.
	environment := []string{"KUBECONFIG=" + kubeconfig, "POD_IP=" + loopback, "POD_NAMESPACE=" + namespace, "POD_NAME=" + filepath.Base(spec.program)}
	process := managerProcess{webhookPort: local.LocalServingPort, certificates: local.LocalServingCertDir, metricsAt: metrics}
	return s.run(ctx, spec.program, environment, append(spec.args(process), "--kubeconfig="+kubeconfig)...)
}

// readKustomization reads CRDs and webhook configurations.
func readKustomization(directory string) ([]*unstructured.Unstructured, error) {
	built, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), directory)
	if err != nil {
		return nil, err
	}
	content, err := built.AsYaml()
	if err != nil {
		return nil, err
	}
	read, err := utilyaml.ToUnstructured(content)
	if err != nil {
		return nil, err
	}
	var objects []*unstructured.Unstructured
	for i := range read {
		if slices.Contains([]string{"CustomResourceDefinition", "MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"}, read[i].GetKind()) {
			objects = append(objects, &read[i])
		}
	}
	return objects, nil
}

// run a program until ctx ends, which its end does too.
func (s *stock) run(ctx context.Context, program string, environment []string, args ...string) error {
	name := filepath.Base(program)
	path := filepath.Join(s.directory, name+".log")
	log, err := os.Create(path)
	if err != nil {
		return fmt.Errorf("create log: %w", err)
	}
	command := exec.CommandContext(ctx, program, args...)
	command.Env = append(os.Environ(), environment...)
	command.Stdout, command.Stderr = log, log
	command.Cancel = func() error { return command.Process.Signal(syscall.SIGTERM) }
	command.WaitDelay = stopTimeout
	if err := command.Start(); err != nil {
		return errors.Join(fmt.Errorf("start %s: %w", name, err), log.Close())
	}
	s.background.Go(func() {
		s.cancel(fmt.Errorf("%s: %w; see %s", name, errors.Join(errEnded, command.Wait(), log.Close()), path))
	})
	return nil
}

var errEnded = errors.New("has ended")

// stop all, the managers first.
func (s *stock) stop() error {
	s.cancel(nil)
	s.background.Wait()
	var errs []error
	for _, local := range s.certificates {
		errs = append(errs, local.Cleanup())
	}
	if s.config != nil {
		errs = append(errs, s.api.Stop())
	}
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("stop kube-apiserver and etcd: %w", err)
	}
	return nil
}
