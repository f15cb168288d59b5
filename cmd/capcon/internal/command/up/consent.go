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

package up

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/update"
)

// consent asks the user where something is deleted or lost.
func (r *run) consent(ctx context.Context, plan update.Plan) error {
	switch {
	case !plan.NeedsConsent, r.request.Yes:
		return nil
	case !r.session.Interactive():
		return fmt.Errorf("%w; to agree, run the command again with --yes", ErrNoConsent)
	}
	_, _ = fmt.Fprint(r.session.Out, "Continue? [y/N] ")
	answers := make(chan string, 1)
	go func() {
		// What ends the input is no consent. The process ends before the read if it is
		// interrupted.
		line, _ := bufio.NewReader(r.session.In).ReadString('\n')
		answers <- strings.ToLower(strings.TrimSpace(line))
	}()
	select {
	case <-ctx.Done():
		return fmt.Errorf("%w: %w", errUnanswered, ctx.Err())
	case answer := <-answers:
		if answer == "y" || answer == "yes" {
			return nil
		}
	}
	return ErrNoConsent
}
