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

package managerimage_test

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine/enginetest"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/permissions"
)

// observerImage has bash, to look at the manager's processes.
const observerImage = "localhost/capcon/node:" + node.DefaultVersion

// The ports of the Deployment.
const (
	diagnosticsPort = 8443
	healthPort      = 9440
	webhookPort     = 9443
)

// pod is a container that is what a kubelet would make of a Pod, but that it is
// on the host's network, where the test's API server is.
type pod struct {
	t            *testing.T
	engine, name string
	spec         corev1.PodSpec
	// socket of the engine on this host.
	socket string
	// mounts and environment that a kubelet would add.
	mounts, environment []string
	// ports of this host by those of the Deployment, which may be taken here.
	ports map[int]int
}

// mountServiceAccount gives the container the token of its ServiceAccount.
func (p *pod) mountServiceAccount(api client.Client, config *rest.Config, namespace string) {
	p.t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: p.spec.ServiceAccountName}}
	token := &authenticationv1.TokenRequest{}
	if err := api.SubResource("token").Create(p.t.Context(), account, token); err != nil {
		p.t.Fatalf("get a token of %s: %v", account.Name, err)
	}
	directory := p.directory(map[string][]byte{
		"token": []byte(token.Status.Token), "ca.crt": config.CAData, "namespace": []byte(namespace),
	})
	p.mounts = append(p.mounts, directory+":/var/run/secrets/kubernetes.io/serviceaccount:ro")
	server, err := url.Parse(config.Host)
	if err != nil || server.Host == "" {
		server = &url.URL{Host: config.Host}
	}
	p.environment = append(p.environment,
		"KUBERNETES_SERVICE_HOST="+server.Hostname(), "KUBERNETES_SERVICE_PORT="+server.Port(), "POD_NAMESPACE="+namespace)
}

// mountCertificate plays cert-manager's part.
func (p *pod) mountCertificate() {
	p.t.Helper()
	issued := envtest.WebhookInstallOptions{}
	must.Succeed(p.t, issued.PrepWithoutInstalling())
	p.t.Cleanup(func() { _ = issued.Cleanup() })
	files := map[string][]byte{}
	for _, name := range []string{"tls.crt", "tls.key"} {
		content := must.Get(os.ReadFile(filepath.Join(issued.LocalServingCertDir, name)))(p.t)
		files[name] = content
	}
	p.mounts = append(p.mounts, p.directory(files)+":"+p.mountPath("cert")+":ro")
}

// directory of files that any user may read: the container's is not this one.
func (p *pod) directory(files map[string][]byte) string {
	p.t.Helper()
	directory := p.t.TempDir()
	for name, content := range files {
		if err := os.WriteFile(filepath.Join(directory, name), content, 0o644); err != nil { //nolint:gosec // for another user
			p.t.Fatal(err)
		}
	}
	return directory
}

func (p *pod) mountPath(volume string) string {
	p.t.Helper()
	for _, mount := range p.spec.Containers[0].VolumeMounts {
		if mount.Name == volume {
			return mount.MountPath
		}
	}
	p.t.Fatalf("the manager does not mount %s", volume)
	return ""
}

// run starts the container as the Deployment says.
func (p *pod) run() {
	p.t.Helper()
	manager, security := p.spec.Containers[0], p.spec.SecurityContext
	args := []string{
		"run", "--detach", "--name", p.name, "--network", "host",
		"--user", fmt.Sprintf("%d:%d", *security.RunAsUser, *security.RunAsGroup),
	}
	if *manager.SecurityContext.ReadOnlyRootFilesystem {
		args = append(args, "--read-only")
		if p.engine == "podman" {
			// A kubelet mounts none other than those of the Pod.
			args = append(args, "--read-only-tmpfs=false")
		}
	}
	if !*manager.SecurityContext.AllowPrivilegeEscalation {
		args = append(args, "--security-opt", "no-new-privileges")
	}
	for _, capability := range manager.SecurityContext.Capabilities.Drop {
		args = append(args, "--cap-drop", string(capability))
	}
	for _, volume := range p.spec.Volumes {
		switch {
		case volume.HostPath != nil:
			args = append(args, "--volume", p.hostPath(volume.HostPath)+":"+p.mountPath(volume.Name))
		case volume.EmptyDir != nil:
			args = append(args, "--tmpfs", p.mountPath(volume.Name))
		}
	}
	for _, mount := range p.mounts {
		args = append(args, "--volume", mount)
	}
	for _, variable := range manager.Env {
		if variable.ValueFrom == nil {
			args = append(args, "--env", variable.Name+"="+variable.Value)
		}
	}
	for _, variable := range p.environment {
		args = append(args, "--env", variable)
	}
	p.ports = map[int]int{}
	for _, documented := range []int{diagnosticsPort, healthPort, webhookPort} {
		p.ports[documented] = int(enginetest.FreeLocalPort(p.t))
	}
	args = append(args, "--entrypoint", manager.Command[0], managerImage)
	args = append(args, manager.Args...)
	args = append(args,
		fmt.Sprintf("--health-addr=:%d", p.ports[healthPort]), fmt.Sprintf("--webhook-port=%d", p.ports[webhookPort]),
		fmt.Sprintf("--diagnostics-address=:%d", p.ports[diagnosticsPort]))
	p.t.Cleanup(func() { _, _ = p.command(context.WithoutCancel(p.t.Context()), "rm", "--force", "--volumes", p.name) })
	if output, err := p.command(p.t.Context(), args...); err != nil {
		p.t.Fatalf("run the manager's image: %v\n%s", err, output)
	}
}

// hostPath is where the engine's socket is on this host, where it is another
// one than on those that the overlay is for.
func (p *pod) hostPath(source *corev1.HostPathVolumeSource) string {
	if ptr.Deref(source.Type, "") == corev1.HostPathDirectory {
		return filepath.Dir(p.socket)
	}
	return p.socket
}

func (p *pod) becomesReady() {
	p.t.Helper()
	p.awaitProbe("readyz", http.StatusOK)
}

// reconnects: an engine that is restarted makes a new socket, which the container of a
// Pod gets when a kubelet restarts it because its liveness probe fails.
func (p *pod) reconnects(proxy *enginetest.Proxy) {
	p.t.Helper()
	p.awaitProbe("healthz", http.StatusOK)
	proxy.Replace(p.t)
	p.awaitProbe("healthz", http.StatusInternalServerError)
	if output, err := p.command(p.t.Context(), "restart", p.name); err != nil {
		p.t.Fatalf("restart the manager: %v\n%s", err, output)
	}
	before := proxy.Requests()
	p.becomesReady()
	p.awaitProbe("healthz", http.StatusOK)
	must.Eventually(p.t, becomesReady, "the manager sends a request through the new socket", func(context.Context) error {
		if proxy.Requests() == before {
			return fmt.Errorf("it sends none\n%s", p.log())
		}
		return nil
	})
}

// awaitProbe waits until a probe of the kubelet's has the status.
func (p *pod) awaitProbe(name string, want int) {
	p.t.Helper()
	must.Eventually(p.t, becomesReady, fmt.Sprintf("%s of the manager answers %d", name, want), func(ctx context.Context) error {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("http://127.0.0.1:%d/%s?verbose", p.ports[healthPort], name), http.NoBody)
		if err != nil {
			return err
		}
		response, err := http.DefaultClient.Do(request)
		if err != nil {
			return err
		}
		defer response.Body.Close()
		if response.StatusCode != want {
			body, _ := io.ReadAll(response.Body)
			return fmt.Errorf("%s: %s\n%s", response.Status, body, p.log())
		}
		return nil
	})
}

// hasPermissions compares the container with what is documented. Of the sockets of
// the host's network those count which a process of the container has; which these are is
// read while the process opens and closes others, so one may be missed.
func (p *pod) hasPermissions() {
	p.t.Helper()
	must.Eventually(p.t, time.Minute, "its permissions are as documented", func(ctx context.Context) error {
		want := permissions.Manager()
		found, err := permissions.Engine{Name: p.engine, Image: observerImage}.Observe(ctx, p.name, want)
		if err != nil {
			return err
		}
		found.Listens = slices.DeleteFunc(found.Listens, func(socket string) bool { return strings.HasSuffix(socket, " ?") })
		for i, socket := range found.Listens {
			for documented, port := range p.ports {
				found.Listens[i] = strings.Replace(found.Listens[i], fmt.Sprintf(":%d ", port), fmt.Sprintf(":%d ", documented), 1)
			}
			if found.Listens[i] == socket {
				return fmt.Errorf("the manager listens on %s, which no flag gave it", socket)
			}
		}
		if diff := permissions.Diff(want, found.Permissions); diff != "" {
			return fmt.Errorf("permissions of the manager: -documented, +found:\n%s", diff)
		}
		return nil
	})
}

func (p *pod) log() string {
	p.t.Helper()
	output, err := p.command(p.t.Context(), "logs", p.name)
	if err != nil {
		return err.Error()
	}
	return string(output)
}

// command runs the engine's own program.
func (p *pod) command(ctx context.Context, args ...string) ([]byte, error) {
	program := p.engine
	if p.engine == "podman" {
		args = append([]string{"--remote"}, args...)
	}
	return exec.CommandContext(ctx, program, args...).CombinedOutput()
}
