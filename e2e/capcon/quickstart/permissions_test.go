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

package quickstart_test

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/capi-samples/cluster-api-provider-container/e2e/capcon/capcontest"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
	"github.com/capi-samples/cluster-api-provider-container/test/permissions"
)

// comparePermissions of every container of the cluster, and of the management
// plane, with what is documented, and returns what was observed.
func comparePermissions(t *testing.T, eng engine.Engine, cluster string) map[string]permissions.Container {
	t.Helper()
	info := must.Get(eng.Info(t.Context()))(t)
	containers := must.Get(eng.ListContainers(t.Context(), map[string]string{identity.LabelRole: ""}))(t)
	observer := permissions.Engine{Name: info.Name, Image: capcontest.NodeContainers(t, eng, cluster)[0].Image}
	found := map[string]permissions.Container{}
	for _, container := range containers {
		role := identity.Role(container.Labels[identity.LabelRole])
		if role != identity.RolePlane && container.Labels[identity.LabelCluster] != cluster {
			continue
		}
		want, ok := map[identity.Role]permissions.Permissions{
			identity.RolePlane: permissions.Plane(), identity.RoleLoadBalancer: permissions.LoadBalancer(),
			identity.RoleServiceLoadBalancer: permissions.ServiceLoadBalancer(),
			identity.RoleControlPlane:        permissions.ControlPlane(), identity.RoleWorker: permissions.Worker(),
		}[role]
		if !ok {
			t.Errorf("nothing says what container %s of the role %q may do", container.Name, role)
			continue
		}
		// Sockets are read while processes open and close some: the owner of one may be missed.
		must.Eventually(t, time.Minute, "permissions of "+container.Name+" are as documented", func(ctx context.Context) error {
			got, err := observer.Observe(ctx, container.Name, want)
			found[container.Name] = got
			if diff := permissions.Diff(want, got.Permissions); err == nil && diff != "" {
				err = fmt.Errorf("-documented, +found:\n%s", diff)
			}
			return err
		})
	}
	return found
}

// planeFromNode: a node reaches the management plane's API server and nothing
// else there. Without a token it gets no answer; with one it may do what the
// token's owner may.
func planeFromNode(t *testing.T, eng engine.Engine, program *capcontest.Program) {
	node := capcontest.NodeContainers(t, eng, program.Cluster)[0].Name
	address := planeAddress(t, eng)
	for _, socket := range permissions.Plane().Listens {
		where, _, _ := strings.Cut(socket, " ")
		_, port, _ := strings.Cut(where, ":")
		_, err := eng.Exec(t.Context(), node, engine.Command{Args: []string{
			"timeout", "5", "bash", "-c", fmt.Sprintf("exec 3<>/dev/tcp/%s/%s", address, port),
		}})
		if open := err == nil; open != strings.HasPrefix(where, permissions.Everywhere) {
			t.Errorf("a node connects to %s of the management plane: %t, %v", socket, open, err)
		}
	}

	api := capcontest.Management(t, program)
	info := clusterInfo(t, api)
	get := func(path, token string) string {
		output, err := eng.Exec(t.Context(), node, engine.Command{
			Args: []string{
				// The token is from standard input, as it should not be in arguments.
				"bash", "-c", `curl --silent --show-error --output /dev/null --write-out '%{http_code}' --config - --cacert <(echo "$1") "$2"`,
				"curl", string(info.CertificateAuthorityData), info.Server + path,
			},
			Stdin: strings.NewReader("header = \"Authorization: Bearer " + token + "\"\n"),
		})
		if err != nil {
			t.Fatalf("ask the management plane from a node: %v: %s", err, output.Stderr)
		}
		return string(output.Stdout)
	}
	for _, path := range []string{
		"/", "/version", "/healthz", "/livez", "/readyz", "/metrics", "/openapi/v3", "/api", "/apis", "/.well-known/openid-configuration",
		"/api/v1/namespaces/kube-public/configmaps/cluster-info", "/api/v1/secrets",
	} {
		for _, token := range []string{"", "guessed"} {
			if diff := cmp.Diff("401", get(path, token)); diff != "" {
				t.Errorf("GET %s with the token %q: -want, +got:\n%s", path, token, diff)
			}
		}
	}
	token := reader(t, api)
	for path, want := range map[string]string{
		"/api/v1/namespaces/default/configmaps/from-node": "200",
		"/api/v1/namespaces/default/secrets":              "403",
	} {
		if diff := cmp.Diff(want, get(path, token)); diff != "" {
			t.Errorf("GET %s with the token of a ServiceAccount: -want, +got:\n%s", path, diff)
		}
	}
}

// clusterInfo is what the management plane publishes for nodes: its API server's
// address on their network, and who certified it.
func clusterInfo(t *testing.T, api client.Client) *clientcmdapi.Cluster {
	t.Helper()
	published := &corev1.ConfigMap{}
	key := client.ObjectKey{Namespace: metav1.NamespacePublic, Name: bootstrapapi.ConfigMapClusterInfo}
	must.Succeed(t, api.Get(t.Context(), key, published))
	kubeconfig := must.Get(clientcmd.Load([]byte(published.Data[bootstrapapi.KubeConfigKey])))(t)
	info, ok := kubeconfig.Clusters[""]
	if !ok {
		t.Fatalf("%v: want a kubeconfig of a cluster without a name", published.Data)
	}
	return info
}

func planeAddress(t *testing.T, eng engine.Engine) netip.Addr {
	t.Helper()
	container := must.Get(eng.InspectContainer(t.Context(), plane.DefaultName))(t)
	for _, endpoint := range container.Networks {
		if len(endpoint.Addresses) > 0 {
			return endpoint.Addresses[0]
		}
	}
	t.Fatal("the management plane has no address")
	return netip.Addr{}
}

// reader makes a ServiceAccount that may read one ConfigMap, and returns a token
// of it.
func reader(t *testing.T, api client.Client) string {
	t.Helper()
	meta := metav1.ObjectMeta{Namespace: metav1.NamespaceDefault, Name: "from-node"}
	account := &corev1.ServiceAccount{ObjectMeta: meta}
	objects := []client.Object{
		account, &corev1.ConfigMap{ObjectMeta: meta},
		&rbacv1.Role{ObjectMeta: meta, Rules: []rbacv1.PolicyRule{
			{Verbs: []string{"get"}, APIGroups: []string{""}, Resources: []string{"configmaps"}, ResourceNames: []string{meta.Name}},
		}},
		&rbacv1.RoleBinding{
			ObjectMeta: meta,
			Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: meta.Namespace, Name: meta.Name}},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: meta.Name},
		},
	}
	for _, object := range objects {
		must.Succeed(t, api.Create(t.Context(), object))
		t.Cleanup(func() {
			if err := api.Delete(context.WithoutCancel(t.Context()), object); client.IgnoreNotFound(err) != nil {
				t.Error(err)
			}
		})
	}
	token := &authenticationv1.TokenRequest{}
	must.Succeed(t, api.SubResource("token").Create(t.Context(), account, token))
	return token.Status.Token
}
