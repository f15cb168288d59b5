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

package kubeconfig

import (
	"encoding/json"
	"fmt"

	"k8s.io/apimachinery/pkg/runtime"
)

// Owner of entries: a cluster on an engine.
type Owner struct {
	Cluster string
	// Engine by name and endpoint, for users too.
	Engine string
	// ID is the owner ID of the cluster; empty while it has none.
	ID string
}

// Context is the name of the context of a cluster, of its cluster and of its user.
func (o Owner) Context() string { return contextPrefix + o.Cluster }

const contextPrefix = "capcon-"

// extension of the entries that capcon writes.
const extension = "capcon"

// mark is the extension: which cluster an entry is of.
type mark struct {
	Engine  string `json:"engine"`
	OwnerID string `json:"ownerID"`
	// PreviousContext was the current one before this one became it.
	PreviousContext string `json:"previousContext,omitempty"`
}

// isOf reports whether an entry of the owner's name is of its cluster, or of an earlier one on the
// same engine, which has one cluster of a name.
func (m mark) isOf(owner Owner) bool {
	return m.Engine == owner.Engine || owner.ID != "" && m.OwnerID == owner.ID
}

func (m mark) extensions() (map[string]runtime.Object, error) {
	text, err := json.Marshal(m)
	if err != nil {
		return nil, fmt.Errorf("encode the extension of a context: %w", err)
	}
	return map[string]runtime.Object{extension: &runtime.Unknown{Raw: text, ContentType: runtime.ContentTypeJSON}}, nil
}

// markOf an entry by its extensions; found is false where capcon did not write it.
func markOf(extensions map[string]runtime.Object) (m mark, found bool) {
	unknown, ok := extensions[extension].(*runtime.Unknown)
	if !ok || json.Unmarshal(unknown.Raw, &m) != nil {
		return mark{}, false
	}
	return m, m.OwnerID != "" || m.Engine != ""
}
