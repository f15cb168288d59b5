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

package state

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"k8s.io/apimachinery/pkg/util/validation"
)

// Cluster is the record of a cluster.
type Cluster struct {
	// OwnerID marks the cluster's containers. With it they can be removed
	// when the management plane is lost.
	OwnerID string `json:"ownerID"`
	// Namespace of the Cluster.
	Namespace string `json:"namespace"`
	// Engine that its management plane is on, and its containers unless it has an EngineName.
	Engine Engine `json:"engine,omitzero"`
	// EngineName is the ContainerEngine that its containers are on; empty = there is none.
	EngineName string `json:"engineName,omitempty"`
	// OtherEngines are the further ContainerEngines of a cluster over several.
	OtherEngines []string `json:"otherEngines,omitempty"`
	// Plane is the ID of the management plane that had the cluster when it was
	// last seen there, and that records each cluster which is moved away from it.
	Plane string `json:"plane,omitempty"`
	// Moved says that this management plane has recorded that.
	Moved bool `json:"moved,omitempty"`
}

// Engine is how to reach an engine again.
type Engine struct {
	// Name is what --engine selects it by.
	Name string `json:"name"`
	// Endpoint that was connected to, without credentials.
	Endpoint string `json:"endpoint"`
	// StorageID is the identity of what it stores.
	StorageID string `json:"storageID,omitempty"`
}

// String is for users.
func (e Engine) String() string { return e.Name + " at " + e.Endpoint }

// Save a cluster.
func (d Directory) Save(name string, cluster Cluster) error {
	text, err := json.Marshal(cluster)
	if err != nil {
		return fmt.Errorf("save state of cluster %q: %w", name, err)
	}
	return d.write(d.record(name), append(text, '\n'))
}

// Load a cluster; found is false where capcon did not make it.
func (d Directory) Load(name string) (cluster Cluster, found bool, err error) {
	text, err := os.ReadFile(d.record(name))
	if errors.Is(err, fs.ErrNotExist) {
		return Cluster{}, false, nil
	}
	if err != nil {
		return Cluster{}, false, fmt.Errorf("read state of cluster %q: %w", name, err)
	}
	if err := json.Unmarshal(text, &cluster); err != nil {
		return Cluster{}, false, fmt.Errorf("parse state of cluster %q in %s: %w", name, d.record(name), err)
	}
	return cluster, true, nil
}

// Clusters that have a record, by name, and the paths of what is no record: other
// programs put files anywhere.
func (d Directory) Clusters() (names, foreign []string, err error) {
	directory := filepath.Join(d.path, "clusters")
	entries, err := os.ReadDir(directory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil, nil
	}
	if err != nil {
		return nil, nil, fmt.Errorf("list records of clusters: %w", err)
	}
	for _, entry := range entries {
		if entry.IsDir() && len(validation.IsDNS1035Label(entry.Name())) == 0 {
			names = append(names, entry.Name())
			continue
		}
		foreign = append(foreign, filepath.Join(directory, entry.Name()))
	}
	return names, foreign, nil
}

// Forget a cluster. It succeeds where nothing is saved.
func (d Directory) Forget(cluster string) error {
	if err := os.RemoveAll(d.ClusterPath(cluster)); err != nil {
		return fmt.Errorf("delete state of cluster %q: %w", cluster, err)
	}
	return removeEmpty(filepath.Join(d.path, "clusters"))
}

// ClusterPath is the directory of all that is saved of a cluster.
func (d Directory) ClusterPath(name string) string { return filepath.Join(d.path, "clusters", name) }

func (d Directory) record(name string) string {
	return filepath.Join(d.ClusterPath(name), "cluster.json")
}
