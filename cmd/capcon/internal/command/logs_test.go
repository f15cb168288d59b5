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

package command

import (
	"context"
	"errors"
	"reflect"
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func logsWorld(t *testing.T) *world {
	t.Helper()
	w := leftoverWorld(t)
	ctx := t.Context()
	labels := identity.Owner{Namespace: "default", Cluster: "demo", ID: "demo-id"}.ContainerLabels(identity.RoleLoadBalancer, "")
	_, err := w.engine.CreateContainer(ctx, engine.Spec{Name: "demo-lb", Image: "localhost/capcon/haproxy:2.6", Labels: labels})
	w.engine.SetLog("demo-lb", "Server is UP\n")
	w.engine.HandleExec(func(string, engine.Command) (engine.Output, error) {
		return engine.Output{Stdout: []byte("kubelet: the word is swordfish42\nkubelet: token=abc\n")}, nil
	})
	data := "#cloud-config\nwrite_files:\n- path: /etc/word\n  permissions: '0600'\n  content: |\n    swordfish42\n"
	err = errors.Join(err,
		w.client.Create(ctx, &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "data"}, Data: map[string][]byte{"value": []byte(data)},
		}),
		w.client.Create(ctx, &clusterv1.Machine{
			ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "demo-a"},
			Spec:       clusterv1.MachineSpec{ClusterName: "demo", Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("data")}},
		}))
	must.Succeed(t, err)
	return w
}

// fail lets the management plane answer reads of a kind with an error.
func (w *world) fail(t *testing.T, kind, message string) {
	t.Helper()
	check := func(object any) error {
		if strings.HasSuffix(reflect.TypeOf(object).String(), "."+kind) {
			return errors.New(message)
		}
		return nil
	}
	w.client = interceptor.NewClient(w.client, interceptor.Funcs{
		Get: func(ctx context.Context, c client.WithWatch, key client.ObjectKey, object client.Object, options ...client.GetOption) error {
			if err := check(object); err != nil {
				return err
			}
			return c.Get(ctx, key, object, options...)
		},
		List: func(ctx context.Context, c client.WithWatch, list client.ObjectList, options ...client.ListOption) error {
			if err := check(list); err != nil {
				return err
			}
			return c.List(ctx, list, options...)
		},
	})
}

func TestLogs(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		change func(*testing.T, *world)
		args   []string
		code   int
		want   []string
		absent []string
		// silent says that there is nothing to complain about.
		silent bool
	}{
		"All": {
			reason: "Machines first, then the load balancer; the secrets of the bootstrap data are left out.",
			args:   []string{"demo"},
			want: []string{
				"==> demo-a bootstrap <==", "==> demo-a journal <==", "the word is [redacted]", "token=[redacted]",
				"==> load-balancer <==\nServer is UP",
			},
			absent: []string{"swordfish42"},
		},
		"LoadBalancer": {
			reason: "It has a name of its own.",
			args:   []string{"demo", "load-balancer"}, want: []string{"Server is UP"}, absent: []string{"demo-a"},
		},
		"Container": {
			reason: "A container's name is as good as the machine's.",
			args:   []string{"demo", "demo-lb"}, want: []string{"Server is UP"}, absent: []string{"demo-a"},
		},
		"WithoutPlane": {
			reason: "What was made here needs no plane.",
			change: func(_ *testing.T, w *world) { w.plane.state = plane.State{} },
			args:   []string{"lost"}, want: []string{"==> lost-a journal <=="},
			// Only the plane could have said what is a secret of the data.
		},
		"PlaneHalf": {
			reason: "Where the plane does not return the cluster, the saved owner ID is used, and secrets are still read.",
			change: func(t *testing.T, w *world) { t.Helper(); w.fail(t, "ContainerCluster", "etcd: no leader") },
			args:   []string{"demo"}, want: []string{"==> demo-a journal <==", "the word is [redacted]", "Server is UP"},
			absent: []string{"swordfish42"}, silent: true,
		},
		"PlaneFails": {
			reason: "What it does not return is reported once, with the reason.",
			change: func(t *testing.T, w *world) {
				t.Helper()
				w.fail(t, "ContainerCluster", "etcd: no leader")
				w.fail(t, "MachineList", "etcd: no leader")
			},
			args: []string{"demo"}, want: []string{
				"==> demo-a journal <==", "the word is swordfish42", "token=[redacted]", "Server is UP",
				"secrets are redacted by pattern only", "etcd: no leader",
			},
		},
		"DataNotRead": {
			reason: "The secrets of the bootstrap data may be what cannot be read.",
			change: func(t *testing.T, w *world) { t.Helper(); w.fail(t, "Secret", "forbidden") },
			args:   []string{"demo", "demo-a"}, want: []string{"token=[redacted]", "secrets are redacted by pattern only", "forbidden"},
		},
		"PlaneFailsOfUnknown": {
			reason: "If the cluster is not known, the plane's error is why.",
			change: func(t *testing.T, w *world) { t.Helper(); w.fail(t, "ContainerCluster", "etcd: no leader") },
			args:   []string{"none"}, code: 1, want: []string{"etcd: no leader"},
		},
		"Stopped": {
			reason: "A machine that does not run has a console.",
			change: func(t *testing.T, w *world) {
				w.engine.SetLog("demo-a", "systemd says\n")
				must.Succeed(t, w.engine.StopContainer(t.Context(), "demo-a", 0))
			},
			args: []string{"demo", "demo-a"}, want: []string{"==> demo-a console <==\nsystemd says"},
		},
		"NoMachine": {reason: "Those there are are named.", args: []string{"demo", "demo-z"}, code: 1, want: []string{"it has: demo-a, load-balancer"}},
		"NoCluster": {reason: "A hint helps.", args: []string{"none"}, code: 1, want: []string{`cluster "none" not found`, "capcon up none"}},
		"BadTail":   {reason: "What cannot be is refused.", args: []string{"demo", "--tail", "-1"}, code: 1, want: []string{"--tail"}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := logsWorld(t)
			if tc.change != nil {
				tc.change(t, w)
			}
			code, out, errs := w.run(append([]string{"logs"}, tc.args...)...)
			if code != tc.code {
				t.Errorf("%s\nlogs ended with %d: %s", tc.reason, code, errs)
			}
			mustContain(t, out+errs, tc.want...)
			if tc.silent && errs != "" || tc.code == 0 && strings.Count(errs, "\n") > 1 {
				t.Errorf("%s\ncomplaints:\n%s", tc.reason, errs)
			}
			for _, word := range tc.absent {
				if strings.Contains(out, word) {
					t.Errorf("%s\n%q is in:\n%s", tc.reason, word, out)
				}
			}
		})
	}
}

func TestLogsCompletion(t *testing.T) {
	t.Parallel()
	w := logsWorld(t)
	for args, want := range map[string]string{"": "demo\nlost\n", "demo": "demo-a\nload-balancer\n"} {
		line := []string{"__complete", "logs"}
		if args != "" {
			line = append(line, args)
		}
		if code, out, errs := w.run(append(line, "")...); code != 0 || !strings.HasPrefix(out, want) {
			t.Errorf("Want %q behind %q, got %d, %q, %s", want, args, code, out, errs)
		}
	}
}
