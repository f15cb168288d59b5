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

package session

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"strings"
	"syscall"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// TestEarlierPlane: a plane of an earlier release does not serve the version that this
// program reads.
func TestEarlierPlane(t *testing.T) {
	t.Parallel()
	s := &Session{ManagementPlane: &ManagementPlane{App: &App{}}}
	s.Program = "capcon"
	noMatch := fmt.Errorf("read cluster: %w", &meta.NoKindMatchError{GroupKind: schema.GroupKind{Kind: "ContainerCluster"}, SearchedVersions: []string{"v1beta2"}})
	if err := s.explainVersion(noMatch); !errors.Is(err, noMatch) || !strings.Contains(err.Error(), `"capcon plane up"`) {
		t.Errorf("the remedy is missing: %v", err)
	}
	other := errors.New("other")
	if err := s.explainVersion(other); !errors.Is(err, other) || err.Error() != "other" {
		t.Errorf("another error became %v", err)
	}
	if err := s.explainVersion(nil); err != nil {
		t.Errorf("no error became %v", err)
	}
}

func TestTransient(t *testing.T) {
	t.Parallel()
	notFound := apierrors.NewNotFound(schema.GroupResource{Resource: "clusters"}, "demo")
	for name, tc := range map[string]struct {
		reason string
		err    error
		want   bool
	}{
		"cut":        {"The connection ended within an answer.", fmt.Errorf("read the response: %w", io.ErrUnexpectedEOF), true},
		"refused":    {"It restarts.", &net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, true},
		"no webhook": {"It is not up yet.", apierrors.NewInternalError(errors.New("failed calling webhook")), true},
		"not found":  {"It answers.", notFound, false},
		"of a file":  {"It is not the plane's.", fs.ErrPermission, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Transient(tc.err); got != tc.want {
				t.Errorf("%s Transient(%v) = %t", tc.reason, tc.err, got)
			}
		})
	}
}
