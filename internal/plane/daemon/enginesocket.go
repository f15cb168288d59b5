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

package daemon

import (
	"context"
	"errors"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine/connect"
)

// socketPeriod is how often the engine's socket is checked: one small file is read.
const socketPeriod = 10 * time.Second

// watchSocket ends the plane when its host has replaced the engine's socket, as a
// Docker does that keeps containers running while it restarts. The engine restarts
// the plane's container then, and mounts the new socket.
func watchSocket(ctx context.Context, end context.CancelCauseFunc) {
	wait.UntilWithContext(ctx, func(context.Context) {
		if err := connect.CheckSocket(); errors.Is(err, connect.ErrSocketReplaced) {
			end(err)
		}
	}, socketPeriod)
}

// replacedSocket is why the plane ended, if watchSocket ended it.
func replacedSocket(ctx context.Context) error {
	if err := context.Cause(ctx); errors.Is(err, connect.ErrSocketReplaced) {
		return err
	}
	return nil
}
