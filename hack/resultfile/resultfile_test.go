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

package resultfile

import (
	"errors"
	"io/fs"
	"path/filepath"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

func TestReadAsWritten(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "results.json")
	var got struct {
		Passed int `json:"passed"`
	}
	if err := Read(path, &got); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("A file that is not there is fs.ErrNotExist, got: %v", err)
	}
	must.Succeed(t, Write(path, map[string]int{"passed": 7}))
	if err := Read(path, &got); err != nil || got.Passed != 7 {
		t.Errorf("Want 7 passed, got: %v, %v", got, err)
	}
	must.Succeed(t, Write(path, map[string]int{"unknown": 7}))
	if err := Read(path, &got); err == nil {
		t.Error("A field that is not known is an error")
	}
}
