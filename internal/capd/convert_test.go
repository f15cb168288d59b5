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

package capd

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.yaml.in/yaml/v3"
)

// convertOne converts one file, and returns its findings as lines.
func convertOne(t *testing.T, manifest string) (string, string) {
	t.Helper()
	files, findings, err := Convert([]File{{"in.yaml", manifest}})
	if err != nil {
		t.Fatal(err)
	}
	lines := make([]string, len(findings))
	for i, finding := range findings {
		lines[i] = finding.String()
	}
	return files[0].Content, strings.Join(lines, "\n")
}

func canonical(t *testing.T, text string) []any {
	t.Helper()
	var all []any
	for _, document := range strings.Split(text, "\n---\n") {
		var value any
		if err := yaml.Unmarshal([]byte(document), &value); err != nil {
			t.Fatalf("%v\n%s", err, document)
		}
		all = append(all, value)
	}
	return all
}

const infrastructure = "apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\n"

func TestConvert(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason, in, want string
		findings         []string
	}{
		"DockerMachineTemplate": {
			reason: "fields get their names",
			in: infrastructure + `kind: DockerMachineTemplate
metadata: {name: a}
spec: {template: {metadata: {labels: {a: b}}, spec: {customImage: "kindest/node:v1", bootstrapTimeout: 3m, extraMounts: [{hostPath: /a, containerPath: /b, readOnly: true}]}}}`,
			want: infrastructure + `kind: ContainerMachineTemplate
metadata: {name: a}
spec: {template: {metadata: {labels: {a: b}}, spec: {image: "kindest/node:v1", bootstrapTimeout: 3m, extraMounts: [{hostPath: /a, containerPath: /b, readOnly: true}]}}}`,
		},
		"DevMachine": {
			reason: "the backend goes, and what names a container of CAPD",
			in: `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DevMachine
metadata: {name: a}
spec: {providerID: "docker:////a", backend: {docker: {customImage: i}}}
status: {ready: true}`,
			want:     infrastructure + "kind: ContainerMachine\nmetadata: {name: a}\nspec: {image: i}",
			findings: []string{"DevMachine/a: spec.providerID: "},
		},
		"InMemory": {
			reason:   "machines in memory become containers, and a finding",
			in:       infrastructure + "kind: DevMachineTemplate\nmetadata: {name: a}\nspec: {template: {spec: {backend: {inMemory: {vm: {provisioning: {startupDuration: 5s}}}}}}}",
			want:     infrastructure + "kind: ContainerMachineTemplate\nmetadata: {name: a}\nspec: {template: {spec: {}}}",
			findings: []string{"DevMachineTemplate/a: spec.template.spec.backend.inMemory: "},
		},
		"DockerMachinePoolTemplate": {
			reason: "machines of pools have a template with a spec",
			in:     infrastructure + "kind: DockerMachinePoolTemplate\nmetadata: {name: a}\nspec: {template: {spec: {template: {customImage: i}}}}",
			want:   infrastructure + "kind: ContainerMachinePoolTemplate\nmetadata: {name: a}\nspec: {template: {spec: {template: {spec: {image: i}}}}}",
		},
		"DevMachinePool": {
			reason:   "so have those of the other kind, and no provider IDs",
			in:       infrastructure + "kind: DevMachinePool\nmetadata: {name: a}\nspec: {providerIDList: [x], backend: {docker: {}}}",
			want:     infrastructure + "kind: ContainerMachinePool\nmetadata: {name: a}\nspec: {template: {spec: {}}}",
			findings: []string{"spec.providerIDList: "},
		},
		"DockerClusterV1beta1": {
			reason: "failure domains become a list; host and template of the load balancer have no equivalent",
			in: `apiVersion: infrastructure.cluster.x-k8s.io/v1beta1
kind: DockerCluster
metadata: {name: a}
spec:
  controlPlaneEndpoint: {host: 172.18.0.3, port: 7777}
  failureDomains: {one: {controlPlane: true}, two: {}}
  loadBalancer: {imageRepository: "${REPO:=example.com}", imageTag: "2.9", customHAProxyConfigTemplateRef: {name: b}}`,
			want: infrastructure + `kind: ContainerCluster
metadata: {name: a}
spec:
  controlPlaneEndpoint: {port: 7777}
  failureDomains: [{name: one, controlPlane: true}, {name: two}]
  loadBalancer: {image: "${REPO:=example.com}/haproxy:2.9"}`,
			findings: []string{"spec.controlPlaneEndpoint: ", "spec.loadBalancer.customHAProxyConfigTemplateRef: ", "spec.loadBalancer: the image needs"},
		},
		"DefaultLoadBalancer": {
			reason:   "CAPD's own image cannot be used; a template has a spec that is not empty",
			in:       infrastructure + "kind: DevClusterTemplate\nmetadata: {name: a}\nspec: {template: {spec: {controlPlaneEndpoint: {port: 7777}, backend: {docker: {loadBalancer: {imageRepository: kindest}}}}}}",
			want:     infrastructure + "kind: ContainerClusterTemplate\nmetadata: {name: a}\nspec: {template: {spec: {loadBalancer: {type: HAProxy}}}}",
			findings: []string{"controlPlaneEndpoint: ", "docker.loadBalancer: kindest/haproxy has no bash"},
		},
		"FieldsBelow": {
			reason: "what CAPD does not have is reported, not dropped",
			in: infrastructure + "kind: DockerCluster\nmetadata: {name: a}\nspec: {loadBalancer: {disable: true}, failureDomains: []}\n---\n" +
				infrastructure + "kind: DockerMachine\nmetadata: {name: a}\nspec: {extraMounts: [{hostPath: /a, containerPath: /b, selinuxRelabel: true}]}",
			want: infrastructure + "kind: ContainerCluster\nmetadata: {name: a}\nspec: {}\n---\n" +
				infrastructure + "kind: ContainerMachine\nmetadata: {name: a}\nspec: {extraMounts: [{hostPath: /a, containerPath: /b, selinuxRelabel: true}]}",
			findings: []string{"spec.loadBalancer.disable: CAPD has no such field", "spec.extraMounts[0].selinuxRelabel: CAPD has no such field"},
		},
		"Images": {
			reason: "images become those of the cluster",
			in: infrastructure + "kind: DevCluster\nmetadata: {name: c}\n---\n" +
				infrastructure + "kind: DockerMachine\nmetadata: {name: a}\nspec: {preLoadImages: [a, b]}\n---\n" +
				infrastructure + "kind: DockerMachine\nmetadata: {name: b}\nspec: {preLoadImages: [b, d], extraMounts: []}",
			want: infrastructure + "kind: ContainerCluster\nmetadata: {name: c}\nspec: {images: [a, b, d]}\n---\n" +
				infrastructure + "kind: ContainerMachine\nmetadata: {name: a}\nspec: {}\n---\n" +
				infrastructure + "kind: ContainerMachine\nmetadata: {name: b}\nspec: {}",
			findings: []string{"they are in spec.images of ContainerCluster/c", "they are in spec.images of ContainerCluster/c"},
		},
		"ImagesWithoutCluster": {
			reason:   "without a cluster among the documents, the remedy names where images go",
			in:       infrastructure + "kind: DockerMachine\nmetadata: {name: a}\nspec: {preLoadImages: [a]}",
			want:     infrastructure + "kind: ContainerMachine\nmetadata: {name: a}\nspec: {}",
			findings: []string{"list them in spec.images of the ContainerCluster"},
		},
		"UnknownField": {
			reason:   "a field that CAPD does not have is reported",
			in:       infrastructure + "kind: DockerMachine\nmetadata: {name: a}\nspec: {image: a}",
			want:     infrastructure + "kind: ContainerMachine\nmetadata: {name: a}\nspec: {}",
			findings: []string{"in.yaml:4: DockerMachine/a: spec.image: CAPD has no such field"},
		},
		"Socket": {
			reason:   "the engine's socket stays, with a finding",
			in:       infrastructure + "kind: DockerMachine\nmetadata: {name: a}\nspec: {extraMounts: [{hostPath: /var/run/docker.sock, containerPath: /var/run/docker.sock}]}",
			want:     infrastructure + "kind: ContainerMachine\nmetadata: {name: a}\nspec: {extraMounts: [{hostPath: /var/run/docker.sock, containerPath: /var/run/docker.sock}]}",
			findings: []string{"spec.extraMounts: the mount gives"},
		},
		"References": {
			reason: "references change in both versions of the contract, others stay",
			in: `apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: a}
spec:
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta1, kind: DockerCluster, name: a}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: a}
  clusterNetwork: {pods: {cidrBlocks: ["fd00::/48"]}, services: {cidrBlocks: ["${CIDR:=10.0.0.0/16}"]}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachinePool
spec: {template: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: DevMachinePool, name: a}}}}`,
			want: `apiVersion: cluster.x-k8s.io/v1beta1
kind: Cluster
metadata: {name: a}
spec:
  infrastructureRef: {apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: ContainerCluster, name: a}
  controlPlaneRef: {apiGroup: controlplane.cluster.x-k8s.io, kind: KubeadmControlPlane, name: a}
  clusterNetwork: {pods: {cidrBlocks: ["fd00::/48"]}, services: {cidrBlocks: ["${CIDR:=10.0.0.0/16}"]}}
---
apiVersion: cluster.x-k8s.io/v1beta2
kind: MachinePool
spec: {template: {spec: {infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: ContainerMachinePool, name: a}}}}`,
		},
		"List": {
			reason: "lists have objects",
			in:     "apiVersion: v1\nkind: List\nitems: [{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: DockerMachine, spec: {customImage: i}}]",
			want:   "apiVersion: v1\nkind: List\nitems: [{apiVersion: infrastructure.cluster.x-k8s.io/v1beta2, kind: ContainerMachine, spec: {image: i}}]",
		},
		"Role": {
			reason: "roles name resources",
			in:     "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nrules: [{apiGroups: [infrastructure.cluster.x-k8s.io], resources: [devmachinetemplates, dockerclusters/status, secrets]}]",
			want:   "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nrules: [{apiGroups: [infrastructure.cluster.x-k8s.io], resources: [containermachinetemplates, containerclusters/status, secrets]}]",
		},
		"Kustomization": {
			reason: "patches in a kustomization change, those in files of their own are reported",
			in: `resources: [../a]
patches:
- target: {group: infrastructure.cluster.x-k8s.io, version: v1beta1, kind: DevMachineTemplate}
  patch: |
    - {op: add, path: /spec/template/spec/backend/docker/extraMounts/-, value: {hostPath: /a, containerPath: /a}}
    - {op: remove, path: /spec/template/spec/backend/docker/preLoadImages}
- path: other.yaml
  target: {group: infrastructure.cluster.x-k8s.io, kind: DockerCluster}
- patch: |
    apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
    kind: DockerMachine
    spec: {customImage: i}`,
			want: `resources: [../a]
patches:
- target: {group: infrastructure.cluster.x-k8s.io, version: v1beta2, kind: ContainerMachineTemplate}
  patch: |
    - {op: add, path: /spec/template/spec/extraMounts/-, value: {hostPath: /a, containerPath: /a}}
- path: other.yaml
  target: {group: infrastructure.cluster.x-k8s.io, kind: ContainerCluster}
- patch: |
    apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
    kind: ContainerMachine
    spec:
      image: i
`,
			findings: []string{"preLoadImages: images are", "patches: a JSON patch alone"},
		},
		"LooseOperations": {
			reason:   "of a patch alone the kind is not known",
			in:       "- {op: remove, path: /spec/patches/3}\n- {op: remove, path: /metadata/labels}",
			want:     "- {op: remove, path: /spec/patches/3}\n- {op: remove, path: /metadata/labels}",
			findings: []string{"in.yaml:1: document: /spec/patches/3: a JSON patch alone"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, findings := convertOne(t, tc.in)
			if diff := cmp.Diff(canonical(t, tc.want), canonical(t, got)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
			lines := strings.Split(findings, "\n")
			if findings == "" {
				lines = nil
			}
			if len(lines) != len(tc.findings) {
				t.Fatalf("%d findings, want %d:\n%s", len(lines), len(tc.findings), findings)
			}
			for i, want := range tc.findings {
				if !strings.Contains(lines[i], want) {
					t.Errorf("finding %q, want %q", lines[i], want)
				}
			}
		})
	}
}

// What does not change stays to the byte, and what does keeps comments, order and variables.
func TestTextSurvives(t *testing.T) {
	t.Parallel()
	const in = `# Of the file.

---
# Untouched:   spaces,

kind:   ConfigMap
data: ${CNI_RESOURCES}
--- # with a comment
# The machines.
kind: DevMachineTemplate # of workers
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
metadata:
  name: "${CLUSTER_NAME}-$${kept}"
spec:
  template:
    spec:
      backend:
        docker:
          # The image.
          customImage: [${IMAGE:=${REPOSITORY}/node}]
---
kind: DevCluster
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
spec:
  backend:
    docker:
      failureDomains: ${DOMAINS=[]}
`
	const want = `# Of the file.

---
# Untouched:   spaces,

kind:   ConfigMap
data: ${CNI_RESOURCES}
---
# The machines.
kind: ContainerMachineTemplate # of workers
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
metadata:
  name: "${CLUSTER_NAME}-$${kept}"
spec:
  template:
    spec:
      # The image.
      image: [${IMAGE:=${REPOSITORY}/node}]
---
kind: ContainerCluster
apiVersion: infrastructure.cluster.x-k8s.io/v1beta2
spec:
  failureDomains: ${DOMAINS=null}
`
	got, findings := convertOne(t, in)
	if diff := cmp.Diff(want, got); diff != "" || findings != "" {
		t.Errorf("(-want +got):\n%s\n%s", diff, findings)
	}
	again, findings := convertOne(t, got)
	if diff := cmp.Diff(got, again); diff != "" || findings != "" {
		t.Errorf("What is converted changes again (-want +got):\n%s\n%s", diff, findings)
	}
}

func TestBadInput(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ in, want string }{
		"UnknownKind":      {"---\nkind: DockerMachin\n" + infrastructure, `in.yaml:2: unknown kind "DockerMachin" of infrastructure.cluster.x-k8s.io; use one of DevCluster, `},
		"OtherProvider":    {"kind: AWSCluster\n" + infrastructure, `unknown kind "AWSCluster"`},
		"UnknownReference": {"kind: Cluster\nspec:\n  infrastructureRef: {apiGroup: infrastructure.cluster.x-k8s.io, kind: VCluster}", `in.yaml:3: unknown kind "VCluster"`},
		"NotYAML":          {"a: b\n---\na: [\n", "parse the document at in.yaml:3: "},
		"MergeKey":         {"a:\n  <<: {b: c}\n", "in.yaml:2: merge keys are not supported; replace << with the fields of its value"},
		"RepeatedKey":      {"kind: A\nspec:\n  b: 1\nkind: B\n", `in.yaml:4: key "kind" is in line 1 already; remove one of them`},
		"SpecOfText":       {"apiVersion: infrastructure.cluster.x-k8s.io/v1beta2\nkind: DockerMachine\nspec: hello\n", "in.yaml:3: spec of DockerMachine is no mapping; correct it"},
		"Alias":            {"a: &b c\nd: *b\n", "in.yaml:2: aliases are not supported; replace *b"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			files, findings, err := Convert([]File{{"in.yaml", tc.in}})
			if err == nil || !strings.Contains(err.Error(), tc.want) || files != nil || findings != nil {
				t.Errorf("%v, want %q", err, tc.want)
			}
		})
	}
}
