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

package podman

import (
	"context"
	"errors"
	"net"
	"testing"
	"testing/synctest"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

func TestLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		here, there := net.Pipe()
		answer := make(chan struct{})
		late := limited(channelTimeout, func(context.Context, string, string) (net.Conn, error) {
			<-answer
			return there, nil
		})
		if conn, err := late(t.Context(), "tcp", "d:80"); conn != nil || !errors.Is(typed(err), engine.ErrUnavailable) {
			t.Errorf("dial that does not end = %v, %v, want %v", conn, err, engine.ErrUnavailable)
		}
		close(answer)
		if _, err := here.Read(make([]byte, 1)); err == nil {
			t.Error("the connection that came late is open")
		}
		if conn, err := late(t.Context(), "tcp", "d:80"); conn != there || err != nil {
			t.Errorf("dial = %v, %v, want the connection", conn, err)
		}
	})
}
