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

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
)

var errRelayArguments = errors.New("relay takes one argument, ADDRESS:PORT")

// relay connects its standard input and output to an address that this container reaches,
// until both directions have ended. capcon runs it where it does not reach the engine's
// host, for each connection.
func relay(args []string) error {
	if len(args) != 1 {
		return errRelayArguments
	}
	ctx := ctrl.SetupSignalHandler()
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", args[0])
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer connection.Close()
	context.AfterFunc(ctx, func() { _ = connection.Close() })
	go func() {
		_, _ = io.Copy(connection, os.Stdin)
		if half, ok := connection.(interface{ CloseWrite() error }); ok {
			_ = half.CloseWrite()
		}
	}()
	if _, err := io.Copy(os.Stdout, connection); err != nil {
		return fmt.Errorf("relay from %s: %w", args[0], err)
	}
	return nil
}
