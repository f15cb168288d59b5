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

package redact

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestText(t *testing.T) {
	t.Parallel()
	const (
		key = "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
		pem = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIB\nQw==\n-----END RSA PRIVATE KEY-----"
	)
	cases := map[string]struct {
		reason  string
		log     string
		secrets []string
		want    string
	}{
		"plain": {
			reason: "a log without secrets stays",
			log: "[preflight] Some fatal errors occurred:\n\t[ERROR Port-10250]: Port 10250 is in use\n" +
				`E1121 03:00:00.000000 1 token.go:12] the token has expired; secrets "kubeadm-certs" not found` + "\n/var/lib/kubelet/pods/01234567-89ab-cdef-0123-456789abcdef/volumes",
			want: "[preflight] Some fatal errors occurred:\n\t[ERROR Port-10250]: Port 10250 is in use\n" +
				`E1121 03:00:00.000000 1 token.go:12] the token has expired; secrets "kubeadm-certs" not found` + "\n/var/lib/kubelet/pods/01234567-89ab-cdef-0123-456789abcdef/volumes",
		},
		"digest":       {reason: "a digest of an image says what failed", log: "pull x@sha256:" + key, want: "pull x@sha256:" + key},
		"known digest": {reason: "unless it is one of the data", log: "--discovery-token-ca-cert-hash sha256:" + key, secrets: []string{"sha256:" + key}, want: "--discovery-token-ca-cert-hash [redacted]"},
		"token":        {reason: "a bootstrap token", log: "using abcdef.0123456789abcdef now", want: "using [redacted] now"},
		"token flag":   {reason: "the value of a flag", log: "kubeadm join --token s3cr3t --v=5", want: "kubeadm join --token [redacted] --v=5"},
		"key":          {reason: "a certificate key", log: "key " + key, want: "key [redacted]"},
		"key flag":     {reason: "the value of a flag", log: "--certificate-key=abc", want: "--certificate-key=[redacted]"},
		"pem":          {reason: "a whole block", log: "a\n" + pem + "\nb", want: "a\n[redacted]\nb"},
		"pem without end": {
			reason: "a block that is cut off at its end", log: "a\n" + pem[:45], want: "a\n[redacted]",
		},
		"pem without begin": {
			reason: "a block that is cut off at its beginning", log: pem[32:] + "\nb", want: "[redacted]\nb",
		},
		"password":    {reason: "named values", log: "password: hunter2\nDB_PASSWORD='a b'\n\"client-secret\": \"x\"", want: "password: [redacted]\nDB_PASSWORD=[redacted]\n\"client-secret\": [redacted]"},
		"url":         {reason: "user info", log: "https://joe:hunter2@example.org/x", want: "https://[redacted]@example.org/x"},
		"bearer":      {reason: "HTTP", log: "Authorization: Bearer abcdefghijkl\ncurl -H 'bearer abcdefghijkl'", want: "Authorization: Bearer [redacted]\ncurl -H 'bearer [redacted]'"},
		"jwt":         {reason: "a service account's token", log: "x eyJhbGciOi.eyJpc3Mi.c2ln y", want: "x [redacted] y"},
		"crypt":       {reason: "a hashed password", log: "joe:$6$salt$abcdefghij:1", want: "joe:[redacted]:1"},
		"base64":      {reason: "long base64", log: "data QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWZnaGk= end", want: "data [redacted] end"},
		"known":       {reason: "what the caller knows, longest first", log: "abc-secret abc", secrets: []string{"abc", "abc-secret"}, want: "[redacted] [redacted]"},
		"no secrets":  {reason: "empty strings are no secrets", log: "abc", secrets: []string{"", " "}, want: "abc"},
		"empty":       {reason: "nothing from nothing"},
		"kubeadm log": {reason: "kubeadm's advice", log: "kubeadm join 10.0.0.1:6443 --token abcdef.0123456789abcdef \\\n --control-plane --certificate-key " + key, want: "kubeadm join 10.0.0.1:6443 --token [redacted] \\\n --control-plane --certificate-key [redacted]"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, Text(tc.log, tc.secrets...)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestFind(t *testing.T) {
	t.Parallel()
	got := Find("curl --token '0123456789' --password=correcthorse token: short\njoin abcdef.0123456789abcdef sha256:" + strings.Repeat("0a", 32))
	want := []string{"correcthorse", "0123456789", "sha256:" + strings.Repeat("0a", 32), "abcdef.0123456789abcdef"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("values of names without quotes, and kubeadm's secrets (-want +got):\n%s", diff)
	}
}

func FuzzText(f *testing.F) {
	const token = "abcdef.0123456789abcdef"
	f.Add("before", "after", "a secret line")
	f.Add("-----BEGIN X-----\n", "\n-----END X-----", "password=1")
	f.Fuzz(func(t *testing.T, before, after, secret string) {
		var got string
		log := before + "\n" + secret + "\n" + token + "\n" + after
		must.StayWithin(t, len(log)+len(secret), must.Limit{Base: 1 << 20, PerByte: 256}, func() { got = Text(log, secret) })
		if strings.Contains(got, token) {
			t.Errorf("the token is left in %q", got)
		}
		if strings.TrimSpace(secret) != "" && !strings.Contains(redacted, secret) && strings.Contains(got, secret) &&
			strings.Contains(strings.ReplaceAll(got, redacted, ""), secret) {
			t.Errorf("the secret %q is left in %q", secret, got)
		}
	})
}
