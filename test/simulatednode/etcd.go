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

package simulatednode

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"
	"sync"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/record"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// etcdManifest is what kubeadm starts etcd with.
const etcdManifest = "/etc/kubernetes/manifests/etcd.yaml"

// Etcd is that of the control planes of one cluster. A control plane becomes a member once
// its bootstrap is done.
type Etcd struct {
	engine *simulated.Engine

	mutex   sync.Mutex
	members map[string]string
}

// RunEtcd lets the control planes of an engine be members.
func RunEtcd(eng *simulated.Engine) *Etcd {
	e := &Etcd{engine: eng, members: map[string]string{}}
	eng.OnStart(e.join)
	return e
}

func (e *Etcd) join(container string) {
	state, err := e.engine.ReadFile(container, path.Join(record.Path, "state"))
	if err != nil || record.State(state) != record.Done {
		return
	}
	// The container exists: it has just started.
	observed, err := e.engine.Observe(container)
	if err != nil || identity.Role(observed.Labels[identity.LabelRole]) != identity.RoleControlPlane {
		return
	}
	if _, err := e.engine.ReadFile(container, etcdManifest); err == nil {
		return
	}
	_ = e.engine.WriteFile(container, etcdManifest, []byte("kind: Pod"))
	e.mutex.Lock()
	defer e.mutex.Unlock()
	e.members[observed.Labels[identity.LabelAddress]] = container
}

// Members are the containers that are, or were, those of members.
func (e *Etcd) Members() []string {
	e.mutex.Lock()
	defer e.mutex.Unlock()
	return slices.Sorted(maps.Values(e.members))
}

// Exec answers requests to etcd; handled is false for other commands.
func (e *Etcd) Exec(command engine.Command) (output engine.Output, handled bool, err error) {
	if command.Args[0] != "curl" {
		return engine.Output{}, false, nil
	}
	e.mutex.Lock()
	defer e.mutex.Unlock()
	last := len(command.Args) - 1
	if strings.HasSuffix(command.Args[last], "/member/remove") {
		var request struct{ ID string }
		if err := json.Unmarshal([]byte(command.Args[last-1]), &request); err != nil {
			return engine.Output{}, true, err
		}
		delete(e.members, request.ID)
	}
	var list []string
	for address := range e.members {
		// Here the ID is the address: a client does not interpret it.
		list = append(list, fmt.Sprintf(`{"ID":%q,"peerURLs":["https://%s:2380"]}`, address, address))
	}
	return engine.Output{Stdout: fmt.Appendf(nil, `{"members":[%s]}`, strings.Join(list, ","))}, true, nil
}
