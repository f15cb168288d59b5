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

package readiness

import (
	"context"
	"fmt"
	"strings"
	"time"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/update"
)

// settleTroubles replaces the machines of troubles that have stood for the
// grace period where that resolves them, and returns an error for the others.
func (w *Wait) settleTroubles(ctx context.Context, standing []management.Trouble) error {
	var found []string
	for _, trouble := range standing {
		if trouble.MayPass {
			continue
		}
		if trouble.Replace == "" {
			found = append(found, fmt.Sprintf("%s: %s: %s\n    remedy: %s",
				trouble.Object, trouble.Reason, management.OneLine(trouble.Message), trouble.Remedy))
			continue
		}
		w.Board.Waiting(trouble.Object, "replacing Machine: "+trouble.Reason)
		kept, err := w.replace(ctx, trouble)
		if err != nil && !session.Transient(err) {
			return err
		}
		if kept != "" {
			found = append(found, kept)
		}
	}
	if len(found) == 0 {
		return nil
	}
	return fmt.Errorf("cluster %q cannot become ready:\n  %s\nFix the cause, then run \"%s up %s\" again",
		w.Request.Name, strings.Join(found, "\n  "), w.Session.Program, w.Request.Name)
}

// replace the Machine of a trouble. It is kept, for the reason that is returned, where the user
// has not agreed to lose the volumes on a Node whose container is still there.
func (w *Wait) replace(ctx context.Context, trouble management.Trouble) (kept string, err error) {
	if trouble.Node != "" && trouble.Reason != infrav1.ContainerNotFoundReason && !w.Request.Yes {
		plan, err := w.Session.WithVolumes(ctx, update.Plan{Cluster: w.Request.Name, Replaced: []update.MachineChange{{
			Machine: update.Machine{Name: trouble.Replace, Node: trouble.Node}, Fields: []string{trouble.Reason},
		}}})
		if err != nil {
			return "", err
		}
		if plan.NeedsConsent {
			return fmt.Sprintf("%s: %s: %s\n%s\n    remedy: save the data; \"%s up %s --yes\" replaces the Machine",
				trouble.Object, trouble.Reason, management.OneLine(trouble.Message), plan, w.Session.Program, w.Request.Name), nil
		}
	}
	return "", management.Replace(ctx, w.Session.Client, management.Namespace, trouble)
}

// standing returns the troubles that have stood for the grace period.
func (w *Wait) standing() []management.Trouble {
	now := w.Session.Now()
	since := make(map[string]time.Time, len(w.last.Troubles))
	var standing []management.Trouble
	for _, trouble := range w.last.Troubles {
		key := trouble.Object + " " + trouble.Reason
		first, known := w.troubled[key]
		if !known {
			first = now
		}
		since[key] = first
		if now.Sub(first) >= TroubleGrace {
			standing = append(standing, trouble)
		}
	}
	w.troubled = since
	return standing
}
