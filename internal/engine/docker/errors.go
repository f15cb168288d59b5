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

package docker

import (
	"context"
	"errors"
	"io"
	"io/fs"
	"net"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// typed gives an error of the client its kind, by the status the engine
// answered with or by how the connection went wrong.
func typed(err error) error {
	return engine.WithKind(err, kindOf(err))
}

func kindOf(err error) error {
	var network net.Error
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return nil
	case errors.Is(err, fs.ErrPermission):
		return engine.ErrUnauthorized
	case client.IsErrConnectionFailed(err), errdefs.IsUnavailable(err), errors.As(err, &network):
		return engine.ErrUnavailable
	case errdefs.IsNotFound(err):
		return engine.ErrNotFound
	case errdefs.IsConflict(err):
		return engine.ErrConflict
	case errdefs.IsInvalidArgument(err):
		return engine.ErrInvalid
	case errdefs.IsUnauthorized(err):
		return engine.ErrUnauthorized
	case errors.Is(err, io.ErrUnexpectedEOF):
		// The engine went away in the middle of its answer.
		return engine.ErrUnavailable
	}
	return nil
}

func isKind(err, kind error) bool { return errors.Is(typed(err), kind) }
