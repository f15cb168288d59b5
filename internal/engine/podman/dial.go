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
	"net"
	"os"
	"time"
)

// channelTimeout bounds opening a channel of an ssh connection, which takes one round trip.
const channelTimeout = 10 * time.Second

type dialer func(ctx context.Context, network, address string) (net.Conn, error)

// limited ends a dial with a timeout error after the limit. golang.org/x/crypto/ssh waits
// forever for a channel that is opened at the moment the connection breaks.
func limited(limit time.Duration, dial dialer) dialer {
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		type result struct {
			conn net.Conn
			err  error
		}
		dialed := make(chan result)
		ctx, cancel := context.WithTimeout(ctx, limit)
		defer cancel()
		go func() {
			conn, err := dial(ctx, network, address)
			select {
			case dialed <- result{conn, err}:
			case <-ctx.Done():
				if err == nil {
					_ = conn.Close()
				}
			}
		}()
		select {
		case r := <-dialed:
			return r.conn, r.err
		case <-ctx.Done():
			return nil, &net.OpError{Op: "dial", Net: network, Err: os.ErrDeadlineExceeded}
		}
	}
}
