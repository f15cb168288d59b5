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

package session

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/kubeconfig"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/state"
)

// UserKubeconfig says which kubeconfig of the user gets the context of a cluster, and how.
type UserKubeconfig struct {
	// File of the user; empty = those of kubectl.
	File string
	// Switch makes the context the current one.
	Switch bool
}

// AddFile adds --kubeconfig.
func (u *UserKubeconfig) AddFile(flags *pflag.FlagSet, usage string) {
	flags.StringVar(&u.File, "kubeconfig", "", usage+" (default: $KUBECONFIG or ~/.kube/config)")
}

// AddFlags adds --kubeconfig and --switch-context.
func (u *UserKubeconfig) AddFlags(command *cobra.Command) {
	u.AddFile(command.Flags(), "file to merge the context of the cluster into")
	command.Flags().BoolVar(&u.Switch, "switch-context", true, "make the context of the cluster the current one of kubectl")
}

// locate the files, and who owns the context of a cluster in them.
func (s *Session) locate(user UserKubeconfig, cluster, ownerID string) (kubeconfig.Files, kubeconfig.Owner, error) {
	files, err := kubeconfig.Locate(user.File, s.Getenv)
	files.Switch, files.After = user.Switch, s.After
	return files, kubeconfig.Owner{Cluster: cluster, Engine: state.Engine{Name: s.Info.Name, Endpoint: s.Info.Endpoint}.String(), ID: ownerID}, err
}

// CheckUserKubeconfig refuses one that the context of a cluster could not be merged into.
func (s *Session) CheckUserKubeconfig(ctx context.Context, user UserKubeconfig, cluster string) error {
	record, _ := s.Records.Get(cluster)
	files, owner, err := s.locate(user, cluster, record.OwnerID)
	if err != nil {
		return err
	}
	return files.Check(ctx, owner)
}

// MergeUserKubeconfig merges the kubeconfig of a cluster into the user's.
func (s *Session) MergeUserKubeconfig(
	ctx context.Context, user UserKubeconfig, cluster, ownerID string, content []byte,
) (kubeconfig.Written, error) {
	files, owner, err := s.locate(user, cluster, ownerID)
	if err != nil {
		return kubeconfig.Written{}, err
	}
	return files.Merge(ctx, owner, content)
}

// RefreshUserKubeconfig merges the kubeconfig of a cluster into the user's if it has its context.
func (s *Session) RefreshUserKubeconfig(ctx context.Context, file, cluster, ownerID string, content []byte) error {
	files, owner, err := s.locate(UserKubeconfig{File: file}, cluster, ownerID)
	if err != nil {
		return err
	}
	has, err := files.Has(owner)
	if err != nil || !has {
		return err
	}
	written, err := files.Merge(ctx, owner, content)
	if err != nil || !written.Changed {
		return err
	}
	s.Printf("Updated context %s in %s.", written.Context, written.Path)
	return nil
}

// RemoveUserKubeconfig removes the context of a cluster that was deleted or forgotten, and returns
// what it did for users; empty where there was nothing to do. Where the files cannot be found, there is none.
func (s *Session) RemoveUserKubeconfig(ctx context.Context, file, cluster, ownerID string) (done string, err error) {
	files, owner, err := s.locate(UserKubeconfig{File: file}, cluster, ownerID)
	if err != nil {
		return "", nil //nolint:nilerr // see above
	}
	removed, current, err := files.Remove(ctx, owner)
	switch {
	case err != nil:
		return "", fmt.Errorf("cluster %q was removed, but not its context %s: %w", cluster, owner.Context(), err)
	case removed && current != "":
		return fmt.Sprintf("Removed context %s; the current one of kubectl is %s.", owner.Context(), current), nil
	case removed:
		return fmt.Sprintf("Removed context %s; kubectl has no current one.", owner.Context()), nil
	}
	return "", nil
}
