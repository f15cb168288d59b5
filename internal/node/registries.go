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

package node

import (
	"crypto/x509"
	"encoding/base64"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/distribution/reference"
)

// Registry says how a node pulls the images of a registry.
type Registry struct {
	// Host of the registry as it begins the names of images; AnyRegistry = all that have
	// no Registry of their own.
	Host string
	// Mirrors are tried in this order, and the registry itself last.
	Mirrors []Mirror
	// CABundle in PEM, and Credentials; empty = none other than those of the node image.
	CABundle    string
	Credentials Credentials
}

// Mirror of a registry.
type Mirror struct {
	// URL with scheme and host. A path that contains /v2/ is the whole prefix of
	// requests; another one is followed by /v2.
	URL string
	// CABundle in PEM, and Credentials; empty = none other than those of the node image.
	CABundle    string
	Credentials Credentials
}

// Credentials of a registry; no Username = none.
type Credentials struct {
	Username, Password string
}

// AnyRegistry is the Host of a Registry that stands for all others.
const AnyRegistry = "*"

// RegistryDirectory is where containerd reads a directory per registry with each pull.
const RegistryDirectory = "/etc/containerd/certs.d"

// RegistryProblem is what is wrong with one of several registries.
type RegistryProblem struct {
	// Index of the registry, and of its mirror; Mirror is -1 for the registry itself.
	Index, Mirror int
	// Field is its name in the API, and Value what it has.
	Field, Value string
	// Reason says what is wrong, and Remedy what to do.
	Reason, Remedy string
}

// CheckRegistries returns what containerd would not understand.
func CheckRegistries(registries []Registry) []RegistryProblem {
	var refused []RegistryProblem
	for i, registry := range registries {
		refuse := func(mirror int, field, value, reason, remedy string) {
			if reason != "" {
				refused = append(refused, RegistryProblem{i, mirror, field, value, reason, remedy})
			}
		}
		reason, remedy := badHost(registry.Host)
		refuse(-1, "host", registry.Host, reason, remedy)
		reason, remedy = badBundle(registry.CABundle)
		refuse(-1, "caBundle", "PEM", reason, remedy)
		for at, mirror := range registry.Mirrors {
			reason, remedy := badURL(mirror.URL)
			refuse(at, "url", mirror.URL, reason, remedy)
			reason, remedy = badBundle(mirror.CABundle)
			refuse(at, "caBundle", "PEM", reason, remedy)
		}
	}
	return refused
}

func badHost(host string) (reason, remedy string) {
	if host == AnyRegistry {
		return "", ""
	}
	// Of a name without a dot, a port or "localhost", the first part is not a registry.
	named, err := reference.ParseNormalizedNamed(host + "/image")
	if err != nil || reference.Domain(named) != host {
		return "is not a registry host",
			"use the host of image names, such as docker.io or registry.example.com:5000, without scheme and path"
	}
	return "", ""
}

func badURL(text string) (reason, remedy string) {
	remedy = "use http://HOST:PORT or https://HOST"
	parsed, err := url.Parse(text)
	switch {
	case err != nil || parsed.Host == "" || parsed.Scheme != "http" && parsed.Scheme != "https":
		return "is not a valid registry URL", remedy
	case parsed.User != nil:
		return "contains credentials", "move them to the Secret of credentialsSecretName"
	case parsed.RawQuery != "" || parsed.Fragment != "" || strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r >= 0x7f || r == '"' || r == '\\' }):
		return "has more than scheme, host and path", remedy
	}
	return "", ""
}

func badBundle(bundle string) (reason, remedy string) {
	if bundle != "" && !x509.NewCertPool().AppendCertsFromPEM([]byte(bundle)) {
		return "has no PEM certificate", "use the PEM-encoded certificate of the CA, which begins with -----BEGIN CERTIFICATE-----"
	}
	return "", ""
}

// registryHeader begins the files that this provider writes, and those alone.
const registryHeader = "# Written from spec.registries of the ContainerCluster; changes are overwritten.\n"

// RegistryFiles are the contents of a node's files by their paths from the root. They may
// have credentials in them.
func RegistryFiles(registries []Registry) map[string]string {
	files := map[string]string{}
	for _, registry := range registries {
		directory := registry.Host
		if registry.Host == AnyRegistry {
			directory = "_default"
		}
		for name, content := range registry.files() {
			files[path.Join(RegistryDirectory[1:], directory, name)] = content
		}
	}
	return files
}

// files in the registry's directory.
func (r Registry) files() map[string]string {
	files := map[string]string{}
	hosts := registryHeader
	bundle := func(name, content string) {
		if content != "" {
			files[name] = content
			hosts += fmt.Sprintf("ca = %q\n", name)
		}
	}
	// Of the registry itself come first: what follows a table belongs to it.
	bundle("ca.crt", r.CABundle)
	if header := r.Credentials.header(); header != "" {
		hosts += "[header]\n" + header
	}
	for i, mirror := range r.Mirrors {
		hosts += fmt.Sprintf("[host.%q]\ncapabilities = [\"pull\", \"resolve\"]\n", mirror.URL)
		if parsed, err := url.Parse(mirror.URL); err == nil && strings.Contains(parsed.Path, "/v2/") {
			hosts += "override_path = true\n"
		}
		bundle("mirror-"+strconv.Itoa(i)+".crt", mirror.CABundle)
		if header := mirror.Credentials.header(); header != "" {
			hosts += fmt.Sprintf("[host.%q.header]\n%s", mirror.URL, header)
		}
	}
	files["hosts.toml"] = hosts
	return files
}

// header as TOML. A registry that issues tokens gets it with the request for one.
func (c Credentials) header() string {
	if c.Username == "" {
		return ""
	}
	return fmt.Sprintf("Authorization = \"Basic %s\"\n", base64.StdEncoding.EncodeToString([]byte(c.Username+":"+c.Password)))
}

// StaleRegistryFiles returns the directories of registries that this provider wrote, and
// that are no longer desired, of all files below RegistryDirectory by their paths from
// the root.
func StaleRegistryFiles(present, desired map[string]string) []string {
	var stale []string
	for name, content := range present {
		if path.Base(name) != "hosts.toml" || !strings.HasPrefix(content, registryHeader) {
			continue
		}
		if _, still := desired[name]; !still {
			stale = append(stale, "/"+path.Dir(name))
		}
	}
	slices.Sort(stale)
	return stale
}
