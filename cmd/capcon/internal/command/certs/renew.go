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
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/certificates"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/progress"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
)

// renewOptions say which certificates are renewed.
type renewOptions struct {
	// force renews those in the first half of their life too.
	force bool
	// kubeconfig of the user that may have the context of the cluster.
	kubeconfig session.UserKubeconfig
}

// renewCertificates of a cluster. Each step is decided by what the nodes have and run, so that
// a command that was interrupted anywhere is continued by the next one.
func renewCertificates(ctx context.Context, s *session.Session, cluster string, options renewOptions) error {
	owner, err := s.OwnerOf(ctx, cluster)
	if err = cmp.Or(err, s.CheckContainers()); err != nil {
		return err
	}
	all, err := certifiedNodes(ctx, s, owner)
	if err != nil {
		return err
	}
	nodes, stopped, err := runningNodes(s, cluster, all)
	if err != nil {
		return err
	}
	machines, err := checkRenewable(ctx, s, cluster, nodes)
	if err != nil {
		return err
	}
	b := s.NewBoard("Renewing the certificates of cluster " + cluster)
	err = renewNodes(ctx, s, b, nodes, options)
	b.Close()
	if err != nil {
		return err
	}
	if s.Client == nil {
		s.Warnf("the management plane is not ready, so Cluster API and the kubeconfigs have earlier dates of the certificates; run the command again when it is")
	} else if err := errors.Join(recordRenewal(ctx, s, machines, nodes), refreshKubeconfigs(ctx, s, owner, options.kubeconfig)); err != nil {
		return err
	}
	if first, found := certificates.Earliest(firstOf(nodes)); found {
		s.Printf("The certificates of cluster %s end on %s.", cluster, first.At.UTC().Format(time.DateOnly))
	}
	if len(stopped) > 0 {
		return fmt.Errorf("certificates not renewed in nodes that are not running: %s; start them, and run the command again", strings.Join(stopped, ", "))
	}
	return nil
}

// runningNodes of all, and the names of the others.
func runningNodes(s *session.Session, cluster string, all []certifiedNode) (nodes []certifiedNode, stopped []string, err error) {
	controlPlanes := 0
	for _, node := range all {
		switch {
		case !node.running:
			stopped = append(stopped, node.Container)
			continue
		case node.controlPlane:
			controlPlanes++
		}
		nodes = append(nodes, node)
	}
	if controlPlanes == 0 {
		return nil, nil, fmt.Errorf("cluster %q has no running control plane node; start it with \"%s start %s\"", cluster, s.Program, cluster)
	}
	return nodes, stopped, nil
}

// checkRenewable refuses what kubeadm cannot renew, before anything is changed, and returns the
// control plane Machines, where the management plane is ready.
func checkRenewable(ctx context.Context, s *session.Session, cluster string, nodes []certifiedNode) (machines []clusterv1.Machine, err error) {
	if s.Client != nil {
		if machines, err = management.ControlPlaneMachines(ctx, s.Client, management.Namespace, cluster); err == nil {
			err = management.CheckKubeadm(machines)
		}
	}
	for _, node := range nodes {
		if err == nil && node.controlPlane {
			err = node.CheckRenewable()
		}
		if err == nil && node.controlPlane {
			err = certificates.CheckKubeadm(ctx, node.engine, node.Container)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("renew certificates of cluster %q: %w", cluster, err)
	}
	return machines, nil
}

// renewNodes renews the files of all nodes before it restarts anything: members of etcd whose
// certificates have ended accept no others, and one alone does not become ready.
func renewNodes(ctx context.Context, s *session.Session, b *progress.Board, nodes []certifiedNode, options renewOptions) error {
	for i := range nodes {
		if err := renewFiles(ctx, s, b, &nodes[i], options); err != nil {
			return err
		}
	}
	for _, node := range nodes {
		if err := wakeKubelet(ctx, s, b, node, nodes[0]); err != nil {
			return err
		}
	}
	for _, node := range nodes {
		if err := restartComponents(ctx, s, b, node); err != nil {
			return err
		}
	}
	return nil
}

func renewFiles(ctx context.Context, s *session.Session, b *progress.Board, node *certifiedNode, options renewOptions) (err error) {
	if !node.controlPlane || !options.force && !node.Due(s.Now()) {
		return nil
	}
	b.Waiting(node.Container, "renewing certificates")
	if err := certificates.Renew(ctx, node.engine, node.Container); err != nil {
		return err
	}
	b.Waiting(node.Container, "certificates renewed")
	node.Node, err = certificates.Read(ctx, node.engine, node.Container)
	return err
}

// wakeKubelet lets a kubelet work that cannot, or waits before it starts a component again.
func wakeKubelet(ctx context.Context, s *session.Session, b *progress.Board, node, controlPlane certifiedNode) error {
	if node.KubeletEnded(s.Now()) {
		if err := certificates.RenewKubelet(ctx, node.engine, node.Node, controlPlane.Node, s.Now()); err != nil {
			return err
		}
		b.Finished(node.Container+" kubelet", "certificate renewed")
		return nil
	}
	if !node.controlPlane {
		return nil
	}
	incomplete, err := certificates.IsIncomplete(ctx, node.engine, node.Node)
	if err != nil || !incomplete {
		return err
	}
	return certificates.RestartKubelet(ctx, node.engine, node.Container)
}

// restartComponents of a control plane node that started before its certificates were renewed,
// and waits until all are ready.
func restartComponents(ctx context.Context, s *session.Session, b *progress.Board, node certifiedNode) error {
	for node.controlPlane {
		waiting, err := certificates.Restart(ctx, node.engine, node.Node)
		if err != nil {
			return err
		}
		if waiting == "" {
			b.Finished(node.Container, "components are ready")
			return nil
		}
		b.Waiting(node.Container, waiting)
		if err := s.Pause(ctx); err != nil {
			return fmt.Errorf("node %s: %s: %w", node.Container, waiting, err)
		}
	}
	return nil
}

// recordRenewal where the dates are read next: in the objects of Cluster API.
func recordRenewal(ctx context.Context, s *session.Session, machines []clusterv1.Machine, nodes []certifiedNode) error {
	ends := map[string]time.Time{}
	for _, node := range nodes {
		if end, found := node.APIServer(); found && node.controlPlane {
			ends[node.machine] = end
		}
	}
	return s.RetryTransient(ctx, func() error { return management.RecordExpiry(ctx, s.Client, machines, ends) })
}
