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

package recipes

import (
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"

	"github.com/capi-samples/cluster-api-provider-container/images/builder/build"
)

const (
	managerName = "manager"
	// unprivileged is the user and group that public images of this kind have.
	unprivileged = "65532:65532"

	clusterAPIModule  = "sigs.k8s.io/cluster-api"
	certManagerModule = "github.com/cert-manager/cert-manager"
	// previousSuffix ends the names of what upgrades begin with.
	previousSuffix = "-previous"
)

// managementNames are the images of a management cluster besides Kubernetes' own.
func managementNames() []string {
	return slices.Concat([]string{managerName}, clusterAPINames(), certManagerNames())
}

// previousManagementNames are the images of the Cluster API that a management
// cluster is upgraded from.
func previousManagementNames() []string {
	names := clusterAPINames()
	for i := range names {
		names[i] += previousSuffix
	}
	return names
}

// clusterAPINames and certManagerNames are also the last parts of the images'
// public names, which the manifests of their releases ask for: where a registry
// is reached, the public image takes the place of the one built here.
func clusterAPINames() []string {
	return []string{"cluster-api-controller", "kubeadm-bootstrap-controller", "kubeadm-control-plane-controller"}
}

func certManagerNames() []string {
	return []string{"cert-manager-controller", "cert-manager-webhook", "cert-manager-cainjector"}
}

// addManagement adds the images of a management cluster that are not built in
// the repository's own module.
func (s set) addManagement() error {
	return errors.Join(
		s.addClusterAPI("", "/core"),
		// Until v1.13 the core manager was the module's root.
		s.addClusterAPI(previousSuffix, ""),
		s.addCertManager(),
	)
}

// addClusterAPI adds Cluster API's managers in the version of one component;
// core is where the core manager's package lies in the module.
func (s set) addClusterAPI(suffix, core string) error {
	component := "cluster-api" + suffix
	version, err := s.ModuleVersion(component, clusterAPIModule)
	if err != nil {
		return err
	}
	packages := []string{core, "/bootstrap/kubeadm", "/controlplane/kubeadm"}
	for i, name := range clusterAPINames() {
		pkg := clusterAPIModule + packages[i]
		source, err := build.Program{
			Name: component, Packages: []string{pkg}, Renames: map[string]string{path.Base(pkg): managerName},
			// Without the tag fieldsv1string of Cluster API's releases, which changes
			// how managed fields lie in memory: so the packages that the plane's
			// image is compiled from are compiled once.
			Ldflags: versionFlags(clusterAPIModule+"/version", version),
		}.Artifact(s.Builder)
		if err != nil {
			return err
		}
		// The module has several programs of one name.
		source.Name = "program-" + name + suffix
		s.images[name+suffix] = rootImage(name+suffix, "registry.k8s.io/cluster-api/"+name+":"+version, s.static, source, "/"+managerName)
	}
	return nil
}

// addCertManager adds cert-manager's images, which hold the same program.
func (s set) addCertManager() error {
	const component = "cert-manager"
	version, err := s.ModuleVersion(component, certManagerModule)
	if err != nil {
		return err
	}
	source, err := build.Program{
		Name: component, Packages: []string{"."},
		Ldflags: []string{"-X", certManagerModule + "/pkg/util.AppVersion=" + version},
	}.Artifact(s.Builder)
	if err != nil {
		return err
	}
	for _, name := range certManagerNames() {
		s.images[name] = rootImage(name, "quay.io/jetstack/"+name+":"+version, s.static, source,
			"/"+component, strings.TrimPrefix(name, component+"-"))
	}
	return nil
}

// managerImage holds this provider's manager and nothing else: the manager starts
// no other program and needs no certificates of authorities.
func (s set) managerImage(ctx context.Context, e edition) (*build.Artifact, error) {
	source, err := s.RepositoryProgram(ctx, "program-"+managerName+e.suffix, build.Program{
		Packages: []string{"."}, Ldflags: e.ldflags, Renames: map[string]string{"cluster-api-provider-container": managerName},
	})
	if err != nil {
		return nil, err
	}
	return rootImage(managerName+e.suffix, Prefix+managerName+":"+e.tag, nil, source, "/"+managerName), nil
}

// rootImage has one program at the root of its file system.
func rootImage(name, reference string, base, source *build.Artifact, entrypoint ...string) *build.Artifact {
	image := programsImage{
		name: name, reference: reference, base: base, directory: ".",
		programs: map[string]*build.Artifact{strings.TrimPrefix(entrypoint[0], "/"): source},
		config:   v1.Config{User: unprivileged, Entrypoint: entrypoint},
	}.artifact()
	image.Recipe = append(image.Recipe, "recipes/management.go")
	return image
}
