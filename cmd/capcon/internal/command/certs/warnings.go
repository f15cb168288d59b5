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

package certs

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"k8s.io/utils/ptr"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/certificates"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
)

// Troubles warn of certificates that end soon, or have ended. Cluster API's dates are
// compared with the nodes where they are a reason to warn: it reads a certificate only once.
func Troubles(ctx context.Context, s *session.Session, observed management.Observed) []management.Trouble {
	cluster := observed.Cluster
	if cluster.Namespace != management.Namespace { // capcon has no command for it
		return nil
	}
	expiries := reportedBy(observed.Machines)
	initialized := ptr.Deref(cluster.Status.Initialization.ControlPlaneInitialized, false)
	if certificates.AllLater(expiries, s.Now()) || !initialized || observed.Infrastructure == nil || s.Engine == nil {
		return warnOf(s, cluster.Name, expiries, management.PowerOf(cluster, observed.Infrastructure))
	}
	owner := identity.Owner{Namespace: management.Namespace, Cluster: observed.Infrastructure.Name, ID: observed.Infrastructure.Spec.OwnerID}
	engines := management.EngineNames(observed.Infrastructure, observed.Containers)
	if nodes := certifiedNodesOf(ctx, s, owner, engines); len(firstOf(nodes)) > 0 {
		expiries = dueOf(s, nodes)
	}
	return warnOf(s, cluster.Name, expiries, management.PowerOf(cluster, observed.Infrastructure))
}

// RecordedTroubles are those of the clusters that are saved, by what is in their nodes.
func RecordedTroubles(ctx context.Context, s *session.Session, name string) []management.Trouble {
	var troubles []management.Trouble
	for _, cluster := range s.Records.Names() {
		if name != "" && name != cluster {
			continue
		}
		record, _ := s.Records.Get(cluster)
		if record.EngineName != "" { // The management plane has the credentials, and does not answer.
			continue
		}
		owner := identity.Owner{Namespace: management.Namespace, Cluster: cluster, ID: record.OwnerID}
		troubles = append(troubles, warnOf(s, cluster, dueOf(s, certifiedNodesOf(ctx, s, owner, []string{record.EngineName})), management.PowerOn)...)
	}
	return troubles
}

// reportedBy the Machines.
func reportedBy(machines []clusterv1.Machine) []certificates.Expiry {
	var expiries []certificates.Expiry
	for i := range machines {
		if date := machines[i].Status.CertificatesExpiryDate; !date.IsZero() && machines[i].DeletionTimestamp.IsZero() {
			expiries = append(expiries, certificates.Expiry{Of: "the certificate of the API server in machine " + machines[i].Name, At: date.Time})
		}
	}
	return expiries
}

// certifiedNodesOf an owner on engines as far as they can be read.
func certifiedNodesOf(ctx context.Context, s *session.Session, owner identity.Owner, engines []string) []certifiedNode {
	if owner.ID == "" {
		return nil
	}
	containers, err := s.ContainersOn(ctx, owner, engines)
	nodes, failed := certificatesOf(ctx, containers)
	err = errors.Join(err, failed)
	if err != nil {
		s.Warnf("it is unknown when the certificates of cluster %q end: %v", owner.Cluster, err)
	}
	return nodes
}

// firstOf the certificates of each control plane node is the one that ends first.
func firstOf(nodes []certifiedNode) []certificates.Expiry {
	return expiriesOf(nodes, certificates.Node.First)
}

// dueOf them are those that are renewed: one of a short life is no reason to warn before.
func dueOf(s *session.Session, nodes []certifiedNode) []certificates.Expiry {
	return expiriesOf(nodes, func(node certificates.Node) (certificates.Certificate, bool) { return node.FirstDue(s.Now()) })
}

func expiriesOf(nodes []certifiedNode, choose func(certificates.Node) (certificates.Certificate, bool)) []certificates.Expiry {
	var expiries []certificates.Expiry
	for _, node := range nodes {
		if chosen, found := choose(node.Node); found && node.controlPlane {
			expiries = append(expiries, certificates.Expiry{Of: fmt.Sprintf("certificate %s of node %s", chosen.Name, node.Container), At: chosen.NotAfter})
		}
	}
	return expiries
}

// warnOf what ends first: a certificate of the cluster, or that of its saved kubeconfig, which
// Cluster API renews without its user.
func warnOf(s *session.Session, cluster string, expiries []certificates.Expiry, power management.Power) []management.Trouble {
	if saved, err := savedKubeconfig(s, cluster); err == nil {
		expiries = append(expiries, certificates.Expiry{Of: "the certificate in " + s.Records.KubeconfigPath(cluster), At: saved.NotAfter})
	}
	first, found := certificates.Earliest(expiries)
	if !found {
		return nil
	}
	remedy := fmt.Sprintf("%s certs renew %s", s.Program, cluster)
	if power == management.PowerStopped {
		remedy = fmt.Sprintf("%s start %s, then %s", s.Program, cluster, remedy)
	}
	trouble, warn := certificates.Warn(cluster, first, s.Now(), remedy)
	if !warn {
		return nil
	}
	return []management.Trouble{trouble}
}

// savedKubeconfig returns the certificate of the kubeconfig that capcon wrote.
func savedKubeconfig(s *session.Session, cluster string) (certificates.Certificate, error) {
	saved, err := os.ReadFile(s.Records.KubeconfigPath(cluster))
	if err != nil {
		return certificates.Certificate{}, fmt.Errorf("read saved kubeconfig: %w", err)
	}
	return certificates.OfKubeconfig(saved)
}

// refreshKubeconfigs writes the kubeconfig of a cluster again, where capcon saved it and where the
// user's has its context.
func refreshKubeconfigs(ctx context.Context, s *session.Session, owner identity.Owner, user session.UserKubeconfig) error {
	present, err := management.Kubeconfig(ctx, s.Client, management.Namespace, owner.Cluster)
	if err != nil {
		return err
	}
	if certificate, err := certificates.OfKubeconfig(present); err == nil && !s.Now().Before(certificate.NotAfter) {
		s.Warnf("the certificate of the kubeconfig of cluster %q ended, and Cluster API has not renewed it yet; run the command again", owner.Cluster)
	}
	return errors.Join(refreshSaved(s, owner.Cluster, present), s.RefreshUserKubeconfig(ctx, user.File, owner.Cluster, owner.ID, present))
}

func refreshSaved(s *session.Session, cluster string, present []byte) error {
	saved, err := os.ReadFile(s.Records.KubeconfigPath(cluster))
	if errors.Is(err, fs.ErrNotExist) || err == nil && bytes.Equal(saved, present) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("read saved kubeconfig: %w", err)
	}
	path, err := s.Records.WriteKubeconfig(cluster, present)
	if err != nil {
		s.Records.Unsaved(err)
		return nil
	}
	s.Printf("Updated %s.", path)
	return nil
}
