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

package supervise

import (
	"errors"
	"path/filepath"
	"testing"
)

func TestLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := AcquireLock(path)
	if err != nil {
		t.Fatalf("AcquireLock(...): %v", err)
	}
	if _, err := AcquireLock(path); !errors.Is(err, ErrLocked) {
		t.Errorf("second AcquireLock(...): want ErrLocked, got %v", err)
	}
	if err := first.Unlock(); err != nil {
		t.Fatalf("Unlock(): %v", err)
	}
	again, err := AcquireLock(path)
	if err != nil {
		t.Fatalf("AcquireLock(...) after Unlock: %v", err)
	}
	if err := again.Unlock(); err != nil {
		t.Errorf("Unlock(): %v", err)
	}
}
