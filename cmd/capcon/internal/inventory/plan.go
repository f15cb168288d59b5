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

package inventory

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/network"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// Manager is a management plane of the engine, or another management cluster.
type Manager struct {
	// Name for users.
	Name string
	// Answers: its clusters are known. Otherwise Detail says why not.
	Answers bool
	Detail  string
	// Plane says that it is one on the engine, and not named by the user. ID is its
	// identity then, and Moves are the clusters that were moved away from it.
	Plane bool
	ID    string
	Moves plane.Moves
	// Clusters that it has.
	Clusters []Cluster
}

// Cluster of a manager.
type Cluster struct {
	Owner identity.Owner
	// Engine is the name of the ContainerEngine that it is on; empty = it is on that of the manager. One in another namespace than
	// default is NAMESPACE/NAME: it is not looked at.
	Engine string
	// Engines are the names of all ContainerEngines that it is on.
	Engines []string
	// Network of the engine that it is on.
	Network string
}

// Has reports whether it has the cluster of an owner ID.
func (m Manager) Has(ownerID string) bool {
	_, found := m.Find(ownerID)
	return found
}

// Find the cluster of an owner ID.
func (m Manager) Find(ownerID string) (Cluster, bool) {
	at := slices.IndexFunc(m.Clusters, func(c Cluster) bool { return c.Owner.ID == ownerID })
	if at < 0 {
		return Cluster{}, false
	}
	return m.Clusters[at], true
}

// Record of a cluster that this user created with capcon.
type Record struct {
	OwnerID string
	// Plane is the ID of the management plane that had it last and that records
	// which clusters are moved away from it; empty where none did.
	Plane string
	// Moved says that it was.
	Moved bool
}

// Update the record by what a management plane knows.
func (r Record) Update(m Manager) Record {
	switch {
	case r.OwnerID == "" || !m.Answers || !m.Plane:
	case m.Has(r.OwnerID):
		r.Moved, r.Plane = false, ""
		if m.Moves.Recorded {
			r.Plane = m.ID
		}
	case m.Moves.Has(r.OwnerID):
		r.Moved = true
	}
	return r
}

// KeptBecause says why what a cluster that no manager has must be kept; empty if one of the
// planes knows that the cluster was not moved to another management cluster.
func (r Record) KeptBecause(planes []string) string {
	switch {
	case r.Moved:
		return "\"clusterctl move\" moved it to another management cluster"
	case r.Plane != "" && slices.Contains(planes, r.Plane):
		return ""
	}
	return "no management plane shows whether it was moved to another management cluster"
}

// World is everything that a plan depends on.
type World struct {
	Objects  []Object
	Managers []Manager
	// Records are of the clusters that this user created with capcon.
	Records []Record
	Now     time.Time
	// Unreached says why the engines of some ContainerEngines are not, whose objects are missing.
	Unreached []error
	// All: also what may belong to a manager that does not answer or is not
	// known, on the engine of the management plane. On others, management planes of their hosts are not asked. Named are owner IDs for which that is so, and of clusters that were
	// moved away.
	All   bool
	Named []string
}

// Decision about one object.
type Decision struct {
	Object
	Remove bool
	// Reason for it, for users.
	Reason string
}

// Plan decides about every object, in the order in which they can be removed.
// Planes and their volumes are never removed, nor is anything without the
// provider's labels.
func Plan(w World) []Decision {
	var decisions []Decision
	for _, kind := range []Kind{Container, Network, Volume} {
		for _, object := range w.Objects {
			if object.Kind == kind {
				decisions = append(decisions, w.decide(object, decisions))
			}
		}
	}
	return decisions
}

// ManagerOf a cluster; false where none that answers has it.
func (w World) ManagerOf(ownerID string) (Manager, bool) {
	for _, manager := range w.Managers {
		if manager.Answers && manager.Has(ownerID) {
			return manager, true
		}
	}
	return Manager{}, false
}

func (w World) decide(object Object, before []Decision) Decision {
	switch {
	case object.Role == identity.RolePlane:
		return keep(object, "belongs to a management plane; remove it with capcon plane down")
	case object.Role == identity.RoleRegistry:
		return keep(object, "belongs to the local registry; remove it with capcon registry down")
	case object.Role == identity.RoleProbe:
		return w.decideProbe(object)
	case object.Creating != "":
		return w.decideCreating(object)
	case object.Kind == Network:
		return w.decideNetwork(object, before)
	case object.Owner.ID == "":
		return keep(object, "has no owner ID, owner unknown")
	}
	return w.decideOwned(object)
}

// probeLifetime is more than any probe takes.
const probeLifetime = time.Minute

func (w World) decideProbe(object Object) Decision {
	lifetime := probeLifetime
	if object.Engine != "" {
		lifetime = creationLifetime // The clock of its host may differ.
	}
	if w.Now.Sub(object.CreatedAt) < lifetime {
		return keep(object, "probe container in use")
	}
	return remove(object, "orphaned probe container")
}

// creationLifetime is far longer than the creation of a network takes, a tenth
// of a second, and bears clocks that differ: the engine's says when it was
// created.
const creationLifetime = 10 * time.Minute

// decideCreating needs no container on it to be looked at: none ever is.
func (w World) decideCreating(object Object) Decision {
	if w.Now.Sub(object.CreatedAt) < creationLifetime {
		return keep(object, fmt.Sprintf("network %s is possibly being created with it", object.Creating))
	}
	return remove(object, fmt.Sprintf("orphaned by an interrupted creation of network %s", object.Creating))
}

func (w World) decideOwned(object Object) Decision {
	if manager, managed := w.ManagerOf(object.Owner.ID); managed {
		return keep(object, fmt.Sprintf("its cluster is in %s", manager.Name))
	}
	record := w.recordOf(object.Owner.ID)
	why := w.doubt(record)
	if object.Kind == Volume && why == "" {
		// What "down" keeps has no record.
		return remove(object, "orphaned, with the PersistentVolumes of its cluster, which was created by this user's capcon and is in no management plane")
	}
	switch {
	case why == "":
		return remove(object, "orphaned: its cluster was created by this user's capcon, and is in no management plane")
	case w.All && !record.Moved && object.Engine == "":
		return remove(object, why+"; selected by --all")
	case slices.Contains(w.Named, object.Owner.ID):
		return remove(object, why+"; selected by --owner")
	}
	return keep(object, fmt.Sprintf("%s; delete it with --owner %s", why, object.Owner.ID))
}

// recordOf an owner; empty where there is none.
func (w World) recordOf(ownerID string) Record {
	for _, record := range w.Records {
		if record.OwnerID == ownerID {
			return record
		}
	}
	return Record{}
}

// doubt says why an object that no manager knows may be needed all the same,
// if it may. What this user's capcon made belongs to a plane on this engine.
func (w World) doubt(record Record) string {
	mine := record.OwnerID != ""
	var silent, planes []string
	for _, manager := range w.Managers {
		switch {
		case manager.Answers && manager.Plane:
			planes = append(planes, manager.ID)
		case !manager.Answers && (manager.Plane || !mine):
			silent = append(silent, fmt.Sprintf("%s, which is not available (%s)", manager.Name, manager.Detail))
		}
	}
	switch {
	case len(silent) > 0:
		return "may belong to " + strings.Join(silent, " or ")
	case !mine:
		return "owner not found in the queried management clusters, and not created by this user's capcon; query another management cluster with --kubeconfig FILE"
	}
	if why := record.KeptBecause(planes); why != "" {
		return why + "; query it with --kubeconfig FILE"
	}
	return ""
}

// decideNetwork: it goes when nothing is left that is on it or would be.
func (w World) decideNetwork(object Object, before []Decision) Decision {
	var removed []string
	for _, decision := range before {
		switch {
		case decision.Engine != object.Engine:
		case decision.Remove:
			removed = append(removed, decision.Name)
		case slices.Contains(decision.Networks, object.Name):
			return keep(object, fmt.Sprintf("used by container %s", decision.Name))
		}
	}
	for _, user := range object.Users {
		if !slices.Contains(removed, user) {
			return keep(object, fmt.Sprintf("used by container %s", user))
		}
	}
	for _, manager := range w.Managers {
		if why := manager.keepsNetwork(object); why != "" {
			return keep(object, why)
		}
	}
	if object.Engine != "" && object.Name == network.DefaultName && w.hasPlane(object.Engine) {
		return keep(object, "reserved for the management plane of its host")
	}
	return remove(object, "unused network of this provider")
}

// keepsNetwork says why a network is needed by the management cluster, or by one of its clusters; empty if it is not.
func (m Manager) keepsNetwork(object Object) string {
	for _, cluster := range m.Clusters {
		// Engines of another management cluster have names of their own.
		if cluster.Network == object.Name && (!m.Plane || cluster.Engine == object.Engine) {
			return fmt.Sprintf("used by cluster %s/%s of %s", cluster.Owner.Namespace, cluster.Owner.Cluster, m.Name)
		}
	}
	if m.Plane && object.Name == network.DefaultName && object.Engine == "" {
		return "reserved for " + m.Name
	}
	return ""
}

// hasPlane reports whether an engine has a management plane.
func (w World) hasPlane(engine string) bool {
	return slices.ContainsFunc(w.Objects, func(object Object) bool { return object.Engine == engine && object.Role == identity.RolePlane })
}

func keep(object Object, reason string) Decision { return Decision{Object: object, Reason: reason} }

func remove(object Object, reason string) Decision {
	return Decision{Object: object, Remove: true, Reason: reason}
}
