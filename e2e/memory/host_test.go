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

package memory_test

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"path"
	"strconv"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	bootstrapv1 "sigs.k8s.io/cluster-api/api/bootstrap/kubeadm/v1beta2"
	"sigs.k8s.io/cluster-api/util/secret"

	"github.com/capi-samples/cluster-api-provider-container/e2e/memory"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/script"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// TestControlPlaneCrashes: connections to the API server end with the container of the control
// plane, which its restart policy starts again at the same time, and the API server comes back.
func TestControlPlaneCrashes(t *testing.T) {
	t.Parallel()
	host := must.Get(memory.NewHost(t.Context(), memory.Options{}))(t)
	ended := make(chan error, 1)
	ctx, cancel := context.WithCancel(t.Context())
	go func() { ended <- host.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		must.Succeed(t, <-ended)
	})
	api := startCluster(t, host)
	list := func(ctx context.Context) error {
		nodes, err := api.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
		if err == nil && (len(nodes.Items) != 1 || nodes.Items[0].Status.Conditions[0].Status != corev1.ConditionTrue) {
			err = fmt.Errorf("the Nodes are %v", nodes.Items)
		}
		return err
	}
	must.Eventually(t, time.Minute, "the Node is ready", list)
	checkCertificate(t, api)
	checkNameSelector(t, api)
	watch := must.Get(api.CoreV1().Nodes().Watch(t.Context(), metav1.ListOptions{}))(t)
	before := must.Get(host.Engine.Observe("control-plane"))(t)

	host.Faults.Set(must.Get(memory.ParseFaults("rules: [{operation: APIServer/list, fault: Crash, rate: 1}]"))(t))
	// Its connection may end before the answer.
	_ = list(t.Context())
	host.Faults.Set(memory.FaultConfig{})

	deadline := time.After(time.Minute)
	for open := true; open; {
		select {
		case _, open = <-watch.ResultChan():
		case <-deadline:
			t.Fatal("the watch lives longer than the API server")
		}
	}
	must.Eventually(t, time.Minute, "the Node is ready again", list)
	observed := must.Get(host.Engine.Observe("control-plane"))(t)
	if observed.Status != engine.StatusRunning || !observed.StartedAt.After(before.StartedAt) {
		t.Errorf("the container is %s since %s, and was started at %s before", observed.Status, observed.StartedAt, before.StartedAt)
	}
	checkStart(t, api, observed.StartedAt)
}

// checkStart: the provider takes a cluster for started once its Nodes have reported since then, and Services lead to
// Pods.
func checkStart(t *testing.T, api *kubernetes.Clientset, startedAt time.Time) {
	t.Helper()
	node := must.Get(api.CoreV1().Nodes().Get(t.Context(), "control-plane", metav1.GetOptions{}))(t)
	for _, condition := range node.Status.Conditions {
		if condition.LastHeartbeatTime.Time.Before(startedAt.Truncate(time.Second)) || condition.LastTransitionTime.IsZero() {
			t.Errorf("%s was reported at %s, and is so since %s", condition.Type, condition.LastHeartbeatTime, condition.LastTransitionTime)
		}
	}
	endpoints := must.Get(api.DiscoveryV1().EndpointSlices(metav1.NamespaceAll).List(t.Context(), metav1.ListOptions{}))(t)
	if len(endpoints.Items) > 0 {
		t.Errorf("the EndpointSlices are %v", endpoints.Items)
	}
}

// checkCertificate: KubeadmControlPlane looks for that of kubeadm by its name.
func checkCertificate(t *testing.T, api *kubernetes.Clientset) {
	t.Helper()
	dialer := &tls.Dialer{Config: &tls.Config{InsecureSkipVerify: true}} //nolint:gosec // Its name is looked at.
	connection := must.Get(dialer.DialContext(t.Context(), "tcp", api.RESTClient().Get().URL().Host))(t)
	defer func() { _ = connection.Close() }()
	state := connection.(*tls.Conn).ConnectionState() //nolint:forcetypeassert // It is one.
	if name := state.PeerCertificates[0].Subject.CommonName; name != "kube-apiserver" {
		t.Errorf("the certificate of the API server is that of %q", name)
	}
}

// checkNameSelector: the management plane watches the configuration of kubeadm by its name.
func checkNameSelector(t *testing.T, api *kubernetes.Clientset) {
	t.Helper()
	options := metav1.ListOptions{FieldSelector: metav1.ObjectNameField + "=kubeadm-config"}
	configMaps := must.Get(api.CoreV1().ConfigMaps(metav1.NamespaceSystem).List(t.Context(), options))(t)
	if len(configMaps.Items) != 1 || configMaps.Items[0].Name != "kubeadm-config" {
		t.Errorf("the ConfigMaps are %v", configMaps.Items)
	}
	watch := must.Get(api.CoreV1().ConfigMaps(metav1.NamespaceSystem).Watch(t.Context(), options))(t)
	defer watch.Stop()
	select {
	case event := <-watch.ResultChan():
		if configMap, _ := event.Object.(*corev1.ConfigMap); configMap == nil || configMap.Name != "kubeadm-config" {
			t.Errorf("the watch has %v", event)
		}
	case <-time.After(time.Minute):
		t.Error("the watch has nothing")
	}
}

// startCluster starts a load balancer and a control plane as the controllers do, and returns a client
// of it.
func startCluster(t *testing.T, host *memory.Host) *kubernetes.Clientset {
	t.Helper()
	const image = "node:v1.36.3"
	must.Get(host.Engine.InspectImage(t.Context(), image))(t)
	labels := func(role identity.Role) map[string]string {
		return map[string]string{identity.LabelOwnerID: "owner", identity.LabelRole: string(role)}
	}
	listener := must.Get((&net.ListenConfig{}).Listen(t.Context(), "tcp", net.JoinHostPort(memory.Address, "0")))(t)
	port := uint16(listener.Addr().(*net.TCPAddr).Port) //nolint:gosec,forcetypeassert // It is one.
	must.Succeed(t, listener.Close())
	for _, spec := range []engine.Spec{
		{
			Name: "load-balancer", Image: image, Labels: labels(identity.RoleLoadBalancer),
			Ports: []engine.PortBinding{{HostAddress: netip.MustParseAddr(memory.Address), HostPort: port, ContainerPort: 6443}},
		},
		{Name: "control-plane", Hostname: "control-plane", Image: image, Labels: labels(identity.RoleControlPlane), Restart: engine.RestartUnlessStopped},
	} {
		must.Get(host.Engine.CreateContainer(t.Context(), spec))(t)
		if spec.Name == "control-plane" {
			writeBootstrapData(t, host)
		}
		must.Succeed(t, host.Engine.StartContainer(t.Context(), spec.Name))
	}
	address := net.JoinHostPort(memory.Address, strconv.Itoa(int(port)))
	return must.Get(kubernetes.NewForConfig(&rest.Config{Host: "https://" + address, TLSClientConfig: rest.TLSClientConfig{Insecure: true}}))(t)
}

// writeBootstrapData of kubeadm init, as the machine controller uploads it.
func writeBootstrapData(t *testing.T, host *memory.Host) {
	t.Helper()
	files := map[string]string{
		"/run/kubeadm/kubeadm.yaml": "apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n---\n" +
			"apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n",
	}
	certificates := secret.NewCertificatesForInitialControlPlane(&bootstrapv1.ClusterConfiguration{})
	must.Succeed(t, certificates.Generate())
	for _, file := range certificates.AsFiles() {
		files[file.Path] = file.Content
	}
	write := func(name, content string) {
		must.Succeed(t, host.Engine.WriteFile("control-plane", path.Join(script.Directory, name), []byte(content)))
	}
	write("bootstrap", "#!/bin/bash\n")
	index := 0
	for name, content := range files {
		directory := path.Join("files", strconv.Itoa(index))
		write(path.Join(directory, "path"), name)
		write(path.Join(directory, "content"), content)
		index++
	}
}
