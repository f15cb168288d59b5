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

package plane

import (
	"errors"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestRetire(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		answer   string
		clusters []string
		want     error
	}{
		"retired":   {`{"clusters":null}`, nil, nil},
		"in use":    {`{"clusters":["default/demo"]}`, []string{"default/demo"}, nil},
		"undecided": {`{"error":"etcd is down"}`, nil, ErrUndecided},
		"cut off":   {`{"clusters":[`, nil, io.ErrUnexpectedEOF},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			listener := must.Get((&net.ListenConfig{}).Listen(t.Context(), "unix", filepath.Join(dir, ControlSocket)))(t)
			mux := http.NewServeMux()
			mux.HandleFunc("POST "+RetirePath, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, tc.answer) })
			go func() { _ = http.Serve(listener, mux) }() //nolint:gosec // It serves one request of this test.
			defer listener.Close()
			clusters, err := Retire(t.Context(), dir)
			if !errors.Is(err, tc.want) {
				t.Errorf("Retire(...): want error %v, got %v", tc.want, err)
			}
			if diff := cmp.Diff(tc.clusters, clusters); diff != "" {
				t.Errorf("Retire(...): -want, +got:\n%s", diff)
			}
		})
	}
}

func TestRetireAgain(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if _, err := Retire(t.Context(), dir); err == nil {
		t.Error("Retire(...) without a daemon succeeds")
	}
	must.Succeed(t, os.WriteFile(filepath.Join(dir, RetiredFile), nil, 0o600))
	if clusters, err := Retire(t.Context(), dir); err != nil || len(clusters) > 0 {
		t.Errorf("Retire(...) of a plane that is retired: %v, %v", clusters, err)
	}
}
