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
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"path/filepath"
)

// How a plane is asked to end for good: what the daemon (package daemon), the command
// inside its container and the plane as seen from outside agree on. See ADR 0005.
const (
	// RetiredFile, below the state directory, marks a plane as retired: it had no
	// Cluster when its API server was stopped, and no daemon ever serves this
	// state directory again.
	RetiredFile = "retired"
	// ControlSocket, below the state directory, is where the daemon takes requests.
	ControlSocket = "control.sock"
	// RetirePath of the request to retire.
	RetirePath = "/retire"
)

// RetireAnswer to a request to retire.
type RetireAnswer struct {
	// Clusters that keep the plane, "namespace/name"; none: it is retired.
	Clusters []string `json:"clusters"`
	// Error is why the daemon could not decide; the plane is not retired.
	Error string `json:"error,omitempty"`
}

// ErrUndecided means that the daemon could not retire and has a reason other than
// Clusters.
var ErrUndecided = errors.New("management plane failed to retire")

// IsRetired reports whether the plane of a state directory is retired.
func IsRetired(stateDir string) (bool, error) {
	_, err := os.Stat(filepath.Join(stateDir, RetiredFile))
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("check retirement marker: %w", err)
	}
	return true, nil
}

// Retire asks the daemon of a state directory to retire, and returns the Clusters
// that keep it from that. None and no error: the plane is retired, which is final.
// The daemon could not decide: ErrUndecided.
func Retire(ctx context.Context, stateDir string) ([]string, error) {
	if retired, err := IsRetired(stateDir); err != nil || retired {
		return nil, err
	}
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", filepath.Join(stateDir, ControlSocket))
	}
	client := &http.Client{Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true}}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://daemon"+RetirePath, http.NoBody)
	if err != nil {
		return nil, fmt.Errorf("request retirement: %w", err)
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, fmt.Errorf("request retirement: %w", err)
	}
	var answer RetireAnswer
	err = json.NewDecoder(response.Body).Decode(&answer)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return nil, fmt.Errorf("read response of the daemon: %w", err)
	}
	if answer.Error != "" {
		return nil, fmt.Errorf("%w: %s", ErrUndecided, answer.Error)
	}
	return answer.Clusters, nil
}
