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

package dashboard

import (
	"context"
	"fmt"
	"os"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/command/status"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
)

// observeTimeout bounds an observation: an engine or an API server may be frozen.
const observeTimeout = time.Minute

// source observes a management cluster, and the containers of its clusters.
type source struct {
	session *session.Session
	// name of the management cluster and engine, for users.
	name, engine string
	// kubeconfig is the path of its kubeconfig; empty = it is the management plane of the engine.
	kubeconfig string
	// stop the watches of the client that is in use, and what they report.
	stop    context.CancelFunc
	changed <-chan struct{}
	// last view without an error, and the error since then.
	last    view
	problem *problem
	steps   stepCache
}

// view is what the page shows.
type view struct {
	// Management cluster and engine, for users.
	Management string `json:"management"`
	Engine     string `json:"engine"`
	// Error of the newest observation; Clusters are those of the one before it.
	Error *problem `json:"error,omitempty"`
	// Notice says why there are no clusters, if that is no error.
	Notice   string    `json:"notice,omitempty"`
	Clusters []cluster `json:"clusters"`
}

// problem that keeps the page from being up to date.
type problem struct {
	Message string    `json:"message"`
	Since   time.Time `json:"since"`
}

// changes of objects.
func (s *source) changes() <-chan struct{} { return s.changed }

// observe all clusters. After an error it connects again: the management plane may be another one.
func (s *source) observe(ctx context.Context) any {
	limited, cancel := context.WithTimeout(ctx, observeTimeout)
	defer cancel()
	found, err := s.read(ctx, limited)
	if err != nil {
		s.disconnect()
		if s.problem == nil {
			s.problem = &problem{Since: s.session.Now()}
		}
		s.problem.Message = management.OneLine(err.Error())
		found = s.last
		found.Management, found.Engine, found.Error = s.name, s.engine, s.problem
		return found
	}
	s.last, s.problem = found, nil
	return found
}

// read with a context that ends with the observation; what continues after it ends with ctx.
func (s *source) read(ctx, limited context.Context) (view, error) {
	result := view{Management: s.name, Engine: s.engine, Clusters: []cluster{}}
	if s.session.Client == nil {
		notice, err := s.connect(ctx, limited)
		if err != nil || s.session.Client == nil {
			result.Notice = notice
			return result, err
		}
	}
	reports, err := status.Clusters(limited, s.session, "")
	if err != nil {
		return view{}, err
	}
	for _, report := range reports {
		one, err := s.cluster(limited, report)
		if apierrors.IsNotFound(err) {
			continue // deleted meanwhile
		}
		if err != nil {
			return view{}, err
		}
		result.Clusters = append(result.Clusters, one)
	}
	return result, nil
}

// connect to the management cluster. There is none: a notice, and no client.
func (s *source) connect(ctx, limited context.Context) (notice string, err error) {
	if s.kubeconfig != "" {
		// It may have been renewed.
		kubeconfig, err := os.ReadFile(s.kubeconfig)
		if err != nil {
			return "", fmt.Errorf("read kubeconfig: %w", err)
		}
		if s.session.Client, err = s.session.NewClient(kubeconfig); err != nil {
			return "", err //nolint:wrapcheck // It says what was connected to.
		}
	} else {
		plane, err := s.session.ReachPlane(limited)
		if err != nil {
			return "", err
		}
		if !plane.Answers {
			return fmt.Sprintf("No clusters: create one with \"%s up NAME\".", s.session.Program), s.session.PlaneSilent(limited, plane, "")
		}
	}
	watched, stop := context.WithCancel(ctx)
	s.stop, s.changed = stop, management.WatchChanges(watched, s.session.Client)
	return "", nil
}

func (s *source) disconnect() {
	if s.stop != nil {
		s.stop()
	}
	s.session.Client, s.stop, s.changed = nil, nil, nil
}
