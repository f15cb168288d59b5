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

package certificates

import (
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
)

func TestWarn(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	for name, tc := range map[string]struct {
		reason string
		ends   time.Time
		want   *management.Trouble
	}{
		"Later":   {"there is time", now.Add(WarningPeriod), nil},
		"Soon":    {"thirty days are enough to act", now.Add(WarningPeriod - time.Second), &management.Trouble{Reason: ReasonExpiring, Message: "x ends on 2026-12-01"}},
		"Today":   {"it still works", now.Add(time.Second), &management.Trouble{Reason: ReasonExpiring, Message: "x ends on 2026-11-01"}},
		"Now":     {"clients compare in the same way", now, &management.Trouble{Reason: ReasonExpired, Message: "x ended on 2026-11-01"}},
		"LongAgo": {"it does not get better", now.AddDate(-1, 0, 0), &management.Trouble{Reason: ReasonExpired, Message: "x ended on 2025-11-01"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, warn := Warn("demo", Expiry{"x", tc.ends}, now, "renew")
			if warn != (tc.want != nil) {
				t.Fatalf("%s: warned = %t", tc.reason, warn)
			}
			if !warn {
				return
			}
			if got.Object != "cluster demo" || got.Remedy != "renew" || got.Reason != tc.want.Reason || !strings.HasPrefix(got.Message, tc.want.Message) {
				t.Errorf("%s: got %+v, want %+v", tc.reason, got, *tc.want)
			}
		})
	}
}

func TestEarliest(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	if _, found := Earliest(nil); found || AllLater(nil, now) {
		t.Error("Want nothing of nothing")
	}
	all := []Expiry{{"b", now.AddDate(1, 0, 0)}, {"a", now.AddDate(0, 6, 0)}, {"c", now.AddDate(0, 6, 0)}}
	first, _ := Earliest(all)
	if diff := cmp.Diff(all[1], first); diff != "" || !AllLater(all, now) {
		t.Errorf("first (-want +got):\n%s", diff)
	}
	if AllLater(append(all, Expiry{"d", now}), now) {
		t.Error("one of them has ended")
	}
}

// TestNode: what kubeadm renews decides, and nothing else does.
func TestNode(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC)
	certificate := func(name string, before, after time.Duration) Certificate {
		return Certificate{Name: name, NotBefore: now.Add(-before), NotAfter: now.Add(after)}
	}
	const day = 24 * time.Hour
	external := func(c Certificate) Certificate { c.external = true; return c }
	ca := certificate("ca", 9*day, day)
	ca.Authority = true
	server := certificate(apiServer, 100*day, 265*day)
	for name, tc := range map[string]struct {
		reason       string
		certificates []Certificate
		components   []string
		first        string
		due          bool
		refused      string
	}{
		"New":          {"it has most of its life", []Certificate{server}, []string{etcd}, apiServer, false, ""},
		"Old":          {"a half of it is over", []Certificate{certificate(apiServer, 183*day, 182*day)}, []string{etcd}, apiServer, true, ""},
		"Partial":      {"kubeadm was interrupted", []Certificate{server, certificate("admin.conf", 300*day, 65*day)}, []string{etcd}, "admin.conf", true, ""},
		"Short":        {"the share of its life counts", []Certificate{certificate(apiServer, time.Hour, 23*time.Hour)}, []string{etcd}, apiServer, false, ""},
		"Authority":    {"kubeadm does not renew it", []Certificate{server, ca}, []string{etcd}, apiServer, false, ""},
		"Kubelet":      {"it renews its own", []Certificate{server, certificate(kubeletClient, 364*day, day)}, []string{etcd}, apiServer, false, ""},
		"External":     {"nothing here can sign", []Certificate{external(server)}, []string{etcd}, "", false, "does not have the key of the authority"},
		"ExternalEtcd": {"its client is the user's", []Certificate{server, external(certificate(etcdClient, 364*day, day))}, nil, apiServer, false, ""},
		"ExternalEtcdAuthority": {
			"etcd in the node needs it", []Certificate{server, external(certificate(etcdClient, 364*day, day))}, []string{etcd}, apiServer, false, etcdClient,
		},
		"None": {"another distribution", nil, nil, "", false, "has no certificates of kubeadm"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node := Node{Container: "a", Certificates: tc.certificates, components: tc.components}
			if first, _ := node.First(); first.Name != tc.first {
				t.Errorf("%s: first is %q, want %q", tc.reason, first.Name, tc.first)
			}
			if due := node.Due(now); due != tc.due {
				t.Errorf("%s: due = %t", tc.reason, due)
			}
			if due, found := node.FirstDue(now); found && due.Name != tc.first {
				t.Errorf("%s: first due is %q, want %q", tc.reason, due.Name, tc.first)
			}
			err := node.CheckRenewable()
			if (err != nil) != (tc.refused != "") || err != nil && !strings.Contains(err.Error(), tc.refused) {
				t.Errorf("%s: refused with %v, want %q", tc.reason, err, tc.refused)
			}
		})
	}
}
