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

package cli

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
)

// notFoundError says that a cluster was not found, where, and which
// clusters there are: most often the name is mistyped.
type notFoundError struct {
	name, where string
	others      []string
	remedy      string
}

// Error implements error.
func (e *notFoundError) Error() string {
	return fmt.Sprintf("cluster %q not found in %s, which has %s; %s", e.name, e.where, e.present(), e.remedy)
}

// present are the clusters that there are, for users.
func (e *notFoundError) present() string { return cmp.Or(strings.Join(e.others, ", "), "no clusters") }

// managementCluster that is asked, for users.
func (s *session) managementCluster() string {
	return fmt.Sprintf("management cluster %s (%s)", plane.DefaultName, s.connected)
}

// notFound in the management cluster, which answers.
func (s *session) notFound(ctx context.Context, name string) error {
	if err := s.elsewhere(ctx, name); err != nil {
		return err
	}
	clusters, err := management.Clusters(ctx, s.client)
	if err != nil {
		return err
	}
	missing := &notFoundError{name: name, where: s.managementCluster(), remedy: s.creates(name)}
	for i := range clusters {
		missing.others = append(missing.others, shown(clusters[i].Namespace, clusters[i].Name))
	}
	return missing
}

// creates says which command creates the cluster.
func (a *app) creates(name string) string {
	return fmt.Sprintf("create it with \"%s up %s\"", a.Program, name)
}

// shown is a cluster's name as commands take it, and with its namespace where
// they do not.
func shown(of, name string) string {
	if of == namespace {
		return name
	}
	return of + "/" + name
}
