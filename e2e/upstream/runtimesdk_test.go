//go:build e2e

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

package upstream

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/onsi/ginkgo/v2"
	"github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
	certutil "k8s.io/client-go/util/cert"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/cluster-api/exp/runtime/server"
	upstream "sigs.k8s.io/cluster-api/test/e2e"
	"sigs.k8s.io/cluster-api/test/extension/handlers/lifecycle"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
)

var _ = ginkgo.Describe("Cluster upgrade with Runtime SDK", func() {
	upstream.ClusterUpgradeWithRuntimeSDKSpec(ctx, func() upstream.ClusterUpgradeWithRuntimeSDKSpecInput {
		service := serveLifecycleHooks()
		return upstream.ClusterUpgradeWithRuntimeSDKSpecInput{
			E2EConfig:                 e2eConfig,
			ClusterctlConfigPath:      clusterctlConfigPath,
			BootstrapClusterProxy:     bootstrapClusterProxy,
			ArtifactFolder:            *artifactFolder,
			SkipCleanup:               *skipCleanup,
			Flavor:                    ptr.To("topology"),
			ExtensionServiceNamespace: service.Namespace,
			ExtensionServiceName:      service.Name,
		}
	})
})

// serveLifecycleHooks with upstream's handlers, in this process, until the spec ends. The Service that
// is returned leads to the host's address in the network of the management cluster: no image is needed.
func serveLifecycleHooks() client.ObjectKey {
	const service = "capcon-e2e-extension"
	key := client.ObjectKey{Namespace: service, Name: service}
	cert, private, err := certutil.GenerateSelfSignedCertKey(key.Name+"."+key.Namespace+".svc", nil, nil)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	directory := ginkgo.GinkgoT().TempDir()
	gomega.Expect(os.WriteFile(filepath.Join(directory, corev1.TLSCertKey), cert, 0o600)).To(gomega.Succeed())
	gomega.Expect(os.WriteFile(filepath.Join(directory, corev1.TLSPrivateKeyKey), private, 0o600)).To(gomega.Succeed())

	host, port := hostInNetwork(), freePort()
	catalog := runtimecatalog.New()
	gomega.Expect(runtimehooksv1.AddToCatalog(catalog)).To(gomega.Succeed())
	extension, err := server.New(server.Options{Catalog: catalog, Host: host, Port: port, CertDir: directory})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	answers := lifecycle.NewExtensionHandlers(bootstrapClusterProxy.GetClient())
	for _, handler := range []server.ExtensionHandler{
		{Hook: runtimehooksv1.BeforeClusterCreate, Name: "before-cluster-create", HandlerFunc: answers.DoBeforeClusterCreate},
		{Hook: runtimehooksv1.AfterControlPlaneInitialized, Name: "after-control-plane-initialized", HandlerFunc: answers.DoAfterControlPlaneInitialized},
		{Hook: runtimehooksv1.BeforeClusterUpgrade, Name: "before-cluster-upgrade", HandlerFunc: answers.DoBeforeClusterUpgrade},
		{Hook: runtimehooksv1.BeforeControlPlaneUpgrade, Name: "before-control-plane-upgrade", HandlerFunc: answers.DoBeforeControlPlaneUpgrade},
		{Hook: runtimehooksv1.AfterControlPlaneUpgrade, Name: "after-control-plane-upgrade", HandlerFunc: answers.DoAfterControlPlaneUpgrade},
		{Hook: runtimehooksv1.BeforeWorkersUpgrade, Name: "before-workers-upgrade", HandlerFunc: answers.DoBeforeWorkersUpgrade},
		{Hook: runtimehooksv1.AfterWorkersUpgrade, Name: "after-workers-upgrade", HandlerFunc: answers.DoAfterWorkersUpgrade},
		{Hook: runtimehooksv1.AfterClusterUpgrade, Name: "after-cluster-upgrade", HandlerFunc: answers.DoAfterClusterUpgrade},
		{Hook: runtimehooksv1.BeforeClusterDelete, Name: "before-cluster-delete", HandlerFunc: answers.DoBeforeClusterDelete},
	} {
		gomega.Expect(extension.AddExtensionHandler(handler)).To(gomega.Succeed())
	}
	serving, stop := context.WithCancel(ctx)
	ended := make(chan error)
	go func() { ended <- extension.Start(serving) }()
	ginkgo.DeferCleanup(func() {
		stop()
		gomega.Expect(<-ended).To(gomega.Succeed())
	})
	createService(key, host, port, cert)
	if *management == managementPlane {
		relayService(key, host, port)
	}
	return key
}

// createService that leads to an address, and the Secret of the certificate.
func createService(key client.ObjectKey, host string, port int, cert []byte) {
	meta := metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name}
	ofService := *meta.DeepCopy()
	ofService.Labels = map[string]string{discoveryv1.LabelServiceName: key.Name}
	ofCert := *meta.DeepCopy()
	ofCert.Name += "-cert"
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: key.Namespace}}
	for _, object := range []client.Object{
		namespace,
		&corev1.Secret{ObjectMeta: ofCert, Data: map[string][]byte{"ca.crt": cert}},
		&corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{
			Ports: []corev1.ServicePort{{Port: 443, TargetPort: intstr.FromInt(port)}},
		}},
		&discoveryv1.EndpointSlice{
			ObjectMeta: ofService, AddressType: discoveryv1.AddressTypeIPv4,
			Endpoints: []discoveryv1.Endpoint{{Addresses: []string{host}}},
			Ports:     []discoveryv1.EndpointPort{{Name: ptr.To(""), Protocol: ptr.To(corev1.ProtocolTCP), Port: ptr.To(int32(port))}}, //nolint:gosec // A port is no larger.
		},
	} {
		gomega.Expect(bootstrapClusterProxy.GetClient().Create(ctx, object)).To(gomega.Succeed())
	}
	ginkgo.DeferCleanup(func() {
		gomega.Expect(bootstrapClusterProxy.GetClient().Delete(context.WithoutCancel(ctx), namespace)).To(gomega.Succeed())
	})
}

// relayService: the plane routes no Services, so that a container has the name.
func relayService(key client.ObjectKey, host string, port int) {
	config := fmt.Sprintf("defaults\n mode tcp\n timeout connect 5s\n timeout client 1m\n timeout server 1m\nlisten extension\n bind :443\n server host %s:%d\n", host, port)
	command := engineCommand()
	run := exec.CommandContext(ctx, command, "run", "--detach", "--rm", "--name", key.Name, "--network", network.DefaultName,
		"--network-alias", key.Name+"."+key.Namespace+".svc", "--user", "0", "--env", "CONFIG="+config, "--entrypoint", "sh",
		e2eConfig.MustGetVariable("CONTAINER_LOAD_BALANCER_IMAGE"), "-c", `printf %s "$CONFIG" >/tmp/haproxy.cfg && exec haproxy -W -f /tmp/haproxy.cfg`)
	output, err := run.CombinedOutput()
	gomega.Expect(err).NotTo(gomega.HaveOccurred(), string(output))
	ginkgo.DeferCleanup(func() {
		gomega.Expect(exec.CommandContext(context.WithoutCancel(ctx), command, "rm", "--force", key.Name).Run()).To(gomega.Succeed())
	})
}

func engineCommand() string {
	connected, err := connect.Connect(ctx, connect.Options{Engine: *engine})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	defer func() { _ = connected.Close() }()
	info, err := connected.Info(ctx)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	return info.Name
}

// hostInNetwork is the host's address in the network of the management cluster.
func hostInNetwork() string {
	connected, err := connect.Connect(ctx, connect.Options{Engine: *engine})
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	defer func() { _ = connected.Close() }()
	found, err := connected.InspectNetwork(ctx, network.DefaultName)
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	for _, subnet := range found.Subnets {
		if subnet.Gateway.Is4() {
			return subnet.Gateway.String()
		}
	}
	ginkgo.Fail("network " + network.DefaultName + " has no IPv4 gateway")
	return ""
}

func freePort() int {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", ":0")
	gomega.Expect(err).NotTo(gomega.HaveOccurred())
	defer func() { _ = listener.Close() }()
	address, isTCP := listener.Addr().(*net.TCPAddr)
	gomega.Expect(isTCP).To(gomega.BeTrue())
	return address.Port
}
