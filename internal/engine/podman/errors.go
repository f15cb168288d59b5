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
	"io"
	"io/fs"
	"net"
	"net/http"
	"slices"

	"github.com/containers/podman/v5/libpod/define"
	"github.com/containers/podman/v5/pkg/errorhandling"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

// causes are the root causes that Podman returns in a field of its own, which is
// meant for programs, with nearly every error having the status 500.
var causes = map[string]error{
	define.ErrNoSuchCtr.Error():     engine.ErrNotFound,
	define.ErrCtrRemoved.Error():    engine.ErrNotFound,
	define.ErrNoSuchVolume.Error():  engine.ErrNotFound,
	define.ErrVolumeRemoved.Error(): engine.ErrNotFound,
	define.ErrNoSuchNetwork.Error(): engine.ErrNotFound,
	errImageUnknown.Error():         engine.ErrNotFound,

	define.ErrCtrExists.Error():               engine.ErrConflict,
	define.ErrCtrStateInvalid.Error():         engine.ErrConflict,
	define.ErrExecSessionStateInvalid.Error(): engine.ErrConflict,
	define.ErrNetworkExists.Error():           engine.ErrConflict,
	define.ErrNetworkInUse.Error():            engine.ErrConflict,
	define.ErrVolumeExists.Error():            engine.ErrConflict,
	define.ErrVolumeBeingUsed.Error():         engine.ErrConflict,

	define.ErrInvalidArg.Error():                 engine.ErrInvalid,
	define.ErrOCIRuntimeNotFound.Error():         engine.ErrInvalid,
	define.ErrOCIRuntimePermissionDenied.Error(): engine.ErrInvalid,
}

// The causes of the storage library, whose package needs cgo: its ErrImageUnknown
// and ErrDuplicateName.
var (
	errImageUnknown = errors.New("image not known")
	errNameInUse    = errors.New("that name is already in use")
)

// errNoSuchInterface is a cause of package net, which does not export it.
var errNoSuchInterface = errors.New("no such network interface")

var statuses = map[int]error{
	http.StatusBadRequest:         engine.ErrInvalid,
	http.StatusUnauthorized:       engine.ErrUnauthorized,
	http.StatusForbidden:          engine.ErrUnauthorized,
	http.StatusNotFound:           engine.ErrNotFound,
	http.StatusConflict:           engine.ErrConflict,
	http.StatusServiceUnavailable: engine.ErrUnavailable,
}

// typed gives an error its kind: by the status Podman answered with, then by
// the root cause, or by how the connection went wrong.
func typed(err error) error {
	return engine.WithKind(err, kindOf(err))
}

func kindOf(err error) error {
	var network net.Error
	var answer *errorhandling.ErrorModel
	switch {
	case err == nil, errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return nil
	case errors.As(err, &answer):
		if kind := statuses[answer.ResponseCode]; kind != nil {
			return kind
		}
		return causes[answer.Because]
	case errors.Is(err, fs.ErrPermission):
		return engine.ErrUnauthorized
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		// Refused, or gone in the middle of an answer.
		return engine.ErrUnavailable
	}
	return nil
}

// isCause reports whether Podman names one of the root causes.
func isCause(err error, wanted ...error) bool {
	var answer *errorhandling.ErrorModel
	return errors.As(err, &answer) &&
		slices.ContainsFunc(wanted, func(cause error) bool { return answer.Because == cause.Error() })
}
