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
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// An address that leads to another server at first is requested on a new connection, which leads
// to the server.
func TestGetOnNewConnections(t *testing.T) {
	t.Parallel()
	var mutex sync.Mutex
	wrong := ""
	server := httptest.NewServer(http.HandlerFunc(func(writer http.ResponseWriter, request *http.Request) {
		mutex.Lock()
		defer mutex.Unlock()
		if wrong == "" {
			wrong = request.RemoteAddr
		}
		if request.RemoteAddr == wrong {
			http.NotFound(writer, request)
		}
	}))
	defer server.Close()
	if _, err := getOnce(t.Context(), server.URL); err == nil {
		t.Error("an answer of another server is accepted")
	}
	if _, err := getOnce(t.Context(), server.URL); err != nil {
		t.Errorf("asked again: %v", err)
	}
}
