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

package engine

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
)

func drainCommand(a *session.App) *cobra.Command {
	var undo bool
	command := &cobra.Command{
		Use:   "drain NAME",
		Short: "Create no more clusters and machines on an engine of another host",
		Long: "Create no more clusters on an engine of another host, and no more machines of clusters over several engines. What is there\n" +
			"continues: delete clusters with \"capcon down\", and roll out the machines of a cluster over several engines. Machines of a cluster\n" +
			"that is on this engine alone are still created there.",
		Args: oneEngine(1),
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, args []string) error {
			if undo {
				return undoDrain(ctx, s, args[0])
			}
			return drain(ctx, s, args[0])
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	command.Flags().BoolVar(&undo, "undo", false, "create clusters and machines on it again")
	return command
}

func setMaintenance(ctx context.Context, s *session.Session, name string, maintenance bool) error {
	engine, err := find(ctx, s, name)
	if err != nil {
		return err
	}
	before := engine.DeepCopy()
	engine.Spec.Maintenance = ptr.To(maintenance)
	if err := s.Client.Patch(ctx, engine, client.MergeFrom(before)); err != nil {
		return fmt.Errorf("write ContainerEngine %q: %w", name, err)
	}
	return nil
}

func undoDrain(ctx context.Context, s *session.Session, name string) error {
	if err := setMaintenance(ctx, s, name, false); err != nil {
		return err
	}
	s.Printf("Clusters, and machines of clusters over several engines, are created on engine %s again.", name)
	return nil
}

func drain(ctx context.Context, s *session.Session, name string) error {
	if err := setMaintenance(ctx, s, name, true); err != nil {
		return err
	}
	on, err := users(ctx, s.Client, name)
	if err != nil {
		return err
	}
	s.Printf("No clusters, and no machines of clusters over several engines, are created on engine %s any more. It has %s.",
		name, cmp.Or(strings.Join(on, ", "), "none"))
	return nil
}

func removeCommand(a *session.App) *cobra.Command {
	var timeout time.Duration
	command := &cobra.Command{
		Use:   "remove NAME",
		Short: "Remove an engine of another host, if it has no clusters",
		Long: "Remove an engine of another host from the management cluster, with its credentials. It is refused while clusters are on the\n" +
			"engine, or were deleted while it was lost and have left something there. Its endpoint is not allowed any more afterwards.",
		Args: oneEngine(1),
		RunE: session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, args []string) error {
			limited, cancel := session.Within(ctx, timeout)
			defer cancel()
			return remove(limited, s, args[0])
		}),
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	session.AddTimeout(command, &timeout)
	return command
}

func remove(ctx context.Context, s *session.Session, name string) error {
	engine, err := find(ctx, s, name)
	if err != nil {
		return err
	}
	// A cluster that is placed meanwhile keeps the object, by its finalizer.
	on, err := users(ctx, s.Client, name)
	if err != nil {
		return err
	}
	if len(on) > 0 {
		return fmt.Errorf("engine %q has %s; delete them first, or keep others away with \"%s engine drain %s\"",
			name, strings.Join(on, ", "), s.Program, name)
	}
	if left := len(engine.Spec.Debts); left > 0 && !ptr.Deref(engine.Spec.Lost, false) {
		return fmt.Errorf("engine %q still has what %s left there while it was lost, and removes that once it responds; if its host is given up, "+
			"set spec.lost of the ContainerEngine", name, output.Plural(left, "deleted cluster"))
	}
	if err := client.IgnoreNotFound(s.Client.Delete(ctx, engine)); err != nil {
		return fmt.Errorf("delete ContainerEngine %q: %w", name, err)
	}
	credentials := engine.Spec.CredentialsSecretName
	if err := waitForDeletion(ctx, s, engine); err != nil {
		return err
	}
	if credentials == secretOf(name) { // Another one may be that of other engines too.
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: management.Namespace, Name: secretOf(name)}}
		if err := client.IgnoreNotFound(s.Client.Delete(ctx, secret)); err != nil {
			return fmt.Errorf("delete Secret %q: %w", secret.Name, err)
		}
	}
	b := s.NewBoard("Removing engine " + name)
	err = ensurePlane(ctx, s, b, name)
	b.Close()
	if err != nil {
		return fmt.Errorf("engine %q is removed, and its endpoint is still allowed: %w", name, err)
	}
	s.Printf("Removed engine %s.", name)
	return nil
}

func waitForDeletion(ctx context.Context, s *session.Session, engine *infrav1.ContainerEngine) error {
	key := client.ObjectKeyFromObject(engine)
	for {
		err := s.Client.Get(ctx, key, engine)
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err != nil && !session.Transient(err) {
			return fmt.Errorf("get ContainerEngine %q: %w", key.Name, err)
		}
		if err := s.Pause(ctx); err != nil {
			return fmt.Errorf("wait for the deletion of ContainerEngine %q: %w", key.Name, err)
		}
	}
}
