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

package userdata

import (
	"encoding/base64"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/redact"
)

func TestSecrets(t *testing.T) {
	t.Parallel()
	config := Config{
		Files: []File{
			{Path: "/etc/key", Mode: 0o600, Content: []byte("short\n  line of a private file\n")},
			{Path: "/etc/public", Content: []byte("br_netfilter\nline of a public file\nabcdefgh12345678\nPASSWORD=hunter2hunter2\n")},
			{Path: "/x.sh", Mode: 0o700, Content: []byte("#!/bin/sh\napt-get install something\ncurl --token '0123456789'\n")},
			{Path: "/run/kubeadm/kubeadm.yaml", Mode: 0o640, Content: []byte(
				"apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\ndiscovery:\n  bootstrapToken:\n    token: abcdef.0123456789abcdef\n")},
		},
		Commands: []Command{{Shell: "login --password=correcthorse"}, {Args: []string{"x", "--api-key=batterystaple"}}},
		Users:    []User{{Name: "joe", PasswordHash: "$6$x", NewPassword: "pw"}, {PasswordHash: NoPassword}},
		Groups:   []Group{{Name: "g", PasswordHash: "$6$g"}, {PasswordHash: NoPassword}},
		Units: []Unit{{
			Content: []byte("[Service]\nEnvironment=TOKEN=secret-of-unit\n"),
			DropIns: []DropIn{{Name: "a.conf", Content: []byte("Environment=PASSWORD=secret-of-dropin\n")}},
		}},
	}
	want := []string{
		"$6$g", "$6$x", "0123456789", "PASSWORD=hunter2hunter2", "abcdef.0123456789abcdef", "abcdefgh12345678", "batterystaple",
		base64.StdEncoding.EncodeToString(config.Files[0].Content), "correcthorse", "hunter2hunter2", "line of a private file", "pw",
		"secret-of-dropin", "secret-of-unit",
	}
	got := config.Secrets()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("Secrets() (-want +got):\n%s", diff)
	}
	log := "error: line of a private file; br_netfilter; kind: JoinConfiguration; apt-get install something; hunter2hunter2"
	redacted := redact.Text(log, got...)
	if strings.Contains(redacted, "private file") || strings.Contains(redacted, "hunter2") {
		t.Errorf("a secret is left: %s", redacted)
	}
	for _, kept := range []string{"br_netfilter", "kind: JoinConfiguration", "apt-get install something"} {
		if !strings.Contains(redacted, kept) {
			t.Errorf("%q says what failed and must stay: %s", kept, redacted)
		}
	}
}
