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
	"bytes"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/reader"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	canary        = "TOPSECRET"
	initDocument  = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: InitConfiguration\n"
	joinDocument  = "apiVersion: kubeadm.k8s.io/v1beta4\nkind: JoinConfiguration\n"
	proxyDocument = "apiVersion: kubeproxy.config.k8s.io/v1alpha1\nkind: KubeProxyConfiguration\n"
)

func kubeadmFile(content string) File {
	return File{Path: "/run/kubeadm/kubeadm.yaml", Content: []byte(content)}
}

// adaptKubeadm adapts the only file of a configuration.
func adaptKubeadm(content []byte) ([]byte, error) {
	config, err := Config{Files: []File{kubeadmFile(string(content))}}.Adapt()
	if err != nil {
		return nil, err
	}
	return config.Files[0].Content, nil
}

func TestKubeadmOperation(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		files  []File
		want   KubeadmOperation
	}{
		"none":               {reason: "another provider's data", files: []File{{Content: []byte("kind: Other\n")}}},
		"cluster only":       {reason: "a cluster is no node", files: []File{kubeadmFile("apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n")}},
		"init":               {reason: "init", files: []File{{}, kubeadmFile("---\nkind: x\n---\n" + initDocument)}, want: KubeadmInit},
		"worker":             {reason: "join", files: []File{kubeadmFile(joinDocument)}, want: KubeadmJoinWorker},
		"null control plane": {reason: "null is like missing", files: []File{kubeadmFile(joinDocument + "controlPlane:\n")}, want: KubeadmJoinWorker},
		"control plane":      {reason: "an empty control plane is one", files: []File{kubeadmFile(joinDocument + "controlPlane: {}\n")}, want: KubeadmJoinControlPlane},
		"script":             {reason: "a script with a document in it", files: []File{kubeadmFile("#!/bin/sh\ncat <<E\n" + initDocument + ": {\nE\n")}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (Config{Files: tc.files}).KubeadmOperation(); got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, got, tc.want)
			}
		})
	}
}

func TestExternalCloudProvider(t *testing.T) {
	t.Parallel()
	registration := "nodeRegistration:\n  kubeletExtraArgs:\n"
	cases := map[string]struct {
		reason string
		files  []File
		want   bool
	}{
		"none":         {reason: "the user said nothing", files: []File{kubeadmFile(initDocument)}},
		"v1beta4":      {reason: "a list of name and value", files: []File{kubeadmFile(joinDocument + registration + "  - {name: v, value: '4'}\n  - {name: cloud-provider, value: external}\n")}, want: true},
		"v1beta3":      {reason: "a mapping", files: []File{kubeadmFile(joinDocument + registration + "    v: '4'\n    cloud-provider: external\n")}, want: true},
		"another":      {reason: "only an external one leaves the Node to others", files: []File{kubeadmFile(joinDocument + registration + "    cloud-provider: mine\n")}},
		"odd":          {reason: "what kubeadm will refuse", files: []File{kubeadmFile(joinDocument + registration + "  - cloud-provider\n  - {name: cloud-provider}\n")}},
		"cluster":      {reason: "a cluster's document has no such field", files: []File{kubeadmFile("apiVersion: kubeadm.k8s.io/v1beta4\nkind: ClusterConfiguration\n" + registration + "    cloud-provider: external\n")}},
		"file":         {reason: "the kubelet's defaults come after kubeadm's", files: []File{kubeadmFile(joinDocument + registration + "    cloud-provider: external\n"), {Path: KubeletDefaults, Content: []byte("KUBELET_EXTRA_ARGS=\"--v=4 --cloud-provider=mine\"\n")}}},
		"file, spaced": {reason: "a value may follow its flag", files: []File{{Path: KubeletDefaults, Content: []byte("KUBELET_EXTRA_ARGS=--cloud-provider external\n")}}, want: true},
		"another file": {reason: "only the kubelet's file counts", files: []File{{Path: "/etc/x", Content: []byte("--cloud-provider=external")}}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := (Config{Files: tc.files}).ExternalCloudProvider(); got != tc.want {
				t.Errorf("%s: got %t", tc.reason, got)
			}
		})
	}
}

func TestAdapt(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason string
		config Config
		// proxies are how many KubeProxyConfigurations are in each file afterwards, maxPerCore how many have the key.
		proxies, maxPerCore []int
	}{
		"no line break": {
			reason: "a document without a last line break is ended first", config: Config{Files: []File{kubeadmFile(strings.TrimSpace(initDocument))}},
			proxies: []int{1}, maxPerCore: []int{1},
		},
		"another file": {
			reason: "kubeadm refuses two, and a user may append one from a file",
			config: Config{Files: []File{kubeadmFile(initDocument), {Path: "/tmp/proxy.yaml", Content: []byte(proxyDocument)}},
				Commands: []Command{{Shell: "cat /tmp/proxy.yaml >>/run/kubeadm/kubeadm.yaml"}}},
			proxies: []int{0, 1}, maxPerCore: []int{0, 1},
		},
		"a command": {
			reason:  "or from a command",
			config:  Config{Files: []File{kubeadmFile(initDocument)}, Commands: []Command{{Shell: "printf '---\nkind: KubeProxyConfiguration' >>x"}}},
			proxies: []int{0}, maxPerCore: []int{0},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			before := string(tc.config.Files[0].Content)
			got := must.Get(tc.config.Adapt())(t)
			var proxies, maxPerCore []int
			for _, file := range got.Files {
				proxies = append(proxies, strings.Count(string(file.Content), "kind: KubeProxyConfiguration\n"))
				maxPerCore = append(maxPerCore, strings.Count(string(file.Content), "  maxPerCore: 0\n"))
			}
			if diff := cmp.Diff([][]int{tc.proxies, tc.maxPerCore}, [][]int{proxies, maxPerCore}); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			if after := string(tc.config.Files[0].Content); after != before {
				t.Errorf("the receiver was changed: %q", after)
			}
		})
	}
}

func TestAdaptBroken(t *testing.T) {
	t.Parallel()
	broken := []byte(initDocument + "x: [" + canary + "\n")
	_, err := adaptKubeadm(broken)
	var invalid *reader.InvalidError
	if !errors.As(err, &invalid) || strings.Contains(err.Error(), canary) {
		t.Errorf("got error %v, want an *reader.InvalidError that does not quote", err)
	}
	if _, err := (Config{Files: []File{{Content: broken}}}).Adapt(); !errors.As(err, &invalid) {
		t.Errorf("got error %v, want an *reader.InvalidError", err)
	}
	for _, check := range map[string]func(Config) error{
		"hash":        func(c Config) error { _, err := c.Hash(); return err },
		"skip phases": func(c Config) error { _, err := c.KubeadmSkipPhases("/x"); return err },
		"values":      Config.CheckDocuments,
	} {
		if err := check(Config{Files: []File{{Path: "/x", Content: append(broken, strings.Repeat("[", 100_000)...)}}}); !errors.As(err, &invalid) {
			t.Errorf("got error %v, want an *InvalidError", err)
		}
	}
	if phases, err := (Config{Files: []File{{Path: "/x", Content: []byte(initDocument + "skipPhases: [a]\n")}}}).KubeadmSkipPhases("/x"); len(phases) != 1 || err != nil {
		t.Errorf("skipped phases %v, error %v", phases, err)
	}
	// kubeadm says better what is wrong here.
	odd := []byte(joinDocument + "nodeRegistration: text\n")
	if got, err := adaptKubeadm(odd); err != nil || !bytes.Equal(got, odd) {
		t.Errorf("a registration that is none stays: %q %v", got, err)
	}
}

// TestAdaptJSON: kubeadm reads what begins with a brace as JSON, which it must still be, or YAML in blocks.
func TestAdaptJSON(t *testing.T) {
	t.Parallel()
	const document = `{"apiVersion":"kubeproxy.config.k8s.io/v1alpha1","kind":"KubeProxyConfiguration","mode":"nftables"}`
	adapted := must.Get(adaptKubeadm([]byte("---\n" + document + "\n")))(t)
	if text := string(adapted); strings.Contains(text, "{") || !strings.Contains(text, "maxPerCore: 0") {
		t.Errorf("JSON became:\n%s", text)
	}
}
