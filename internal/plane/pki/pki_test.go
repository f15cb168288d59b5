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

package pki

import (
	"crypto/x509"
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/client-go/tools/clientcmd"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func serving(dir string) Certificate {
	return Certificate{
		Path:       filepath.Join(dir, "serving.pem"),
		CommonName: "serving",
		Names:      []string{"localhost"},
		Addresses:  []net.IP{net.IPv4(127, 0, 0, 1)},
		Usages:     []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		Lifetime:   3 * time.Hour,
	}
}

func mustAuthority(t *testing.T, dir, name string) *Authority {
	t.Helper()
	a, err := EnsureAuthority(dir, name)
	if err != nil {
		t.Fatalf("EnsureAuthority(%q): %v", name, err)
	}
	return a
}

func mustEnsure(t *testing.T, a *Authority, c Certificate, now time.Time) bool {
	t.Helper()
	issued, err := a.Ensure(c, now)
	if err != nil {
		t.Fatalf("Ensure(...): %v", err)
	}
	return issued
}

func TestAuthorityIsKept(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	first, second := mustAuthority(t, dir, "ca"), mustAuthority(t, dir, "ca")
	if diff := cmp.Diff(string(first.CertificatePEM()), string(second.CertificatePEM())); diff != "" {
		t.Errorf("authority read again: -first, +second:\n%s", diff)
	}
	for _, name := range []string{"ca.pem", "ca.crt"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatalf("stat: %v", err)
		}
		if diff := cmp.Diff(os.FileMode(0o600), info.Mode()); diff != "" {
			t.Errorf("mode of %s: -want, +got:\n%s", name, diff)
		}
	}
}

func TestDamagedAuthorityIsNotReplaced(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	mustAuthority(t, dir, "ca")
	must.Succeed(t, os.WriteFile(filepath.Join(dir, "ca.pem"), []byte("damaged"), 0o600))
	if _, err := EnsureAuthority(dir, "ca"); !errors.Is(err, ErrUnreadable) {
		t.Errorf("EnsureAuthority(...): want ErrUnreadable, got %v", err)
	}
}

func TestEnsure(t *testing.T) {
	t.Parallel()
	now := time.Now()
	same := func(t *testing.T, a *Authority, c *Certificate) *Authority { t.Helper(); return a }
	addresses := func(addresses ...net.IP) func(*testing.T, *Authority, *Certificate) *Authority {
		return func(_ *testing.T, a *Authority, c *Certificate) *Authority { c.Addresses = addresses; return a }
	}
	cases := map[string]struct {
		reason string
		change func(t *testing.T, a *Authority, c *Certificate) *Authority
		after  time.Duration
		want   bool
	}{
		"Fresh":                 {"A fresh certificate is left alone.", same, 0, false},
		"MoreThanAThirdRemains": {"A certificate is left alone while a third of its life remains.", same, 2*time.Hour - time.Second, false},
		"LessThanAThirdRemains": {"It is renewed when less remains.", same, 2*time.Hour + time.Second, true},
		"Expired":               {"An expired certificate is renewed.", same, 24 * time.Hour, true},
		"AddressAdded":          {"A certificate that lacks an address is reissued.", addresses(net.IPv4(127, 0, 0, 1), net.IPv4(172, 20, 0, 2)), 0, true},
		"AddressGone":           {"A certificate with an address too many will do.", addresses(), 0, false},
		"Damaged": {"A certificate that cannot be read is reissued.", func(t *testing.T, a *Authority, c *Certificate) *Authority {
			t.Helper()
			must.Succeed(t, os.WriteFile(c.Path, nil, 0o600))
			return a
		}, 0, true},
		"OtherAuthority": {"A certificate of another authority is reissued.", func(t *testing.T, _ *Authority, c *Certificate) *Authority {
			t.Helper()
			return mustAuthority(t, filepath.Dir(c.Path), "other")
		}, 0, true},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			a, c := mustAuthority(t, dir, "ca"), serving(dir)
			if !mustEnsure(t, a, c, now) {
				t.Fatal("Ensure of a missing certificate: want it issued")
			}
			a = tc.change(t, a, &c)
			if got := mustEnsure(t, a, c, now.Add(tc.after)); got != tc.want {
				t.Errorf("\n%s\nEnsure(...): want issued %t, got %t", tc.reason, tc.want, got)
			}
		})
	}
}

func TestTokenIsKept(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "token")
	first, second := must.Get(EnsureToken(path))(t), must.Get(EnsureToken(path))(t)
	if first != second || len(first) < 26 {
		t.Errorf("EnsureToken(...): want one token of at least 128 bits, got %d and %d characters, equal: %t", len(first), len(second), first == second)
	}
}

func TestKubeconfig(t *testing.T) {
	t.Parallel()
	a := mustAuthority(t, t.TempDir(), "ca")
	encoded, err := a.Kubeconfig("https://127.0.0.1:6443", "plane", "admin", "token")
	if err != nil {
		t.Fatalf("Kubeconfig(...): %v", err)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(encoded)
	if err != nil {
		t.Fatalf("RESTConfigFromKubeConfig(...): %v", err)
	}
	got := []string{config.Host, config.BearerToken, string(config.CAData)}
	if diff := cmp.Diff([]string{"https://127.0.0.1:6443", "token", string(a.CertificatePEM())}, got); diff != "" {
		t.Errorf("kubeconfig: -want, +got:\n%s", diff)
	}
}

// What cannot be read or written is an error that names the file, and is not replaced.
func TestUnusableFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	missing := filepath.Join(dir, "missing", "file")
	_, token := EnsureToken(dir)
	for name, test := range map[string]struct {
		err  error
		path string
	}{
		"NoDirectory":    {WriteFile(missing, []byte("a")), missing},
		"TokenDirectory": {token, dir},
	} {
		if test.err == nil || !strings.Contains(test.err.Error(), test.path) {
			t.Errorf("%s: error %v, want one that names %s", name, test.err, test.path)
		}
	}
}
