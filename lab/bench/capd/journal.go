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
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// journal is a file that says when which object changed: where the seconds of a
// figure went.
type journal struct {
	mu   sync.Mutex
	file *os.File
}

func newJournal(path string) (*journal, error) {
	file, err := os.Create(path)
	if err != nil {
		return nil, fmt.Errorf("create journal: %w", err)
	}
	return &journal{file: file}, nil
}

func (j *journal) close() error {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.file.Close()
}

// note writes one line; a journal that is nil writes none.
func (j *journal) note(what string, changed any) {
	object, ok := changed.(client.Object)
	if j == nil || !ok {
		return
	}
	content, err := json.Marshal(object)
	if err != nil {
		return // an object from the API server has a JSON form
	}
	read := &unstructured.Unstructured{}
	if err := json.Unmarshal(content, &read.Object); err != nil {
		return
	}
	deleting := ""
	if object.GetDeletionTimestamp() != nil {
		deleting = " deleting"
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	// After close nothing is written any more, and nothing is missed.
	_, _ = fmt.Fprintf(j.file, "%s %T%s %s %s%s owners=%d finalizers=%d rv=%s %s\n", time.Now().Format("15:04:05.000"),
		object, read.GetKind(), object.GetName(), what, deleting, len(object.GetOwnerReferences()), len(object.GetFinalizers()), object.GetResourceVersion(), states(read))
}

// states are the object's conditions, in short.
func states(object *unstructured.Unstructured) string {
	status, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	words := make([]string, 0, len(status))
	for _, entry := range status {
		condition, ok := entry.(map[string]any)
		if !ok || condition["status"] == string(metav1.ConditionTrue) {
			continue
		}
		words = append(words, fmt.Sprintf("%v=%v", condition["type"], condition["reason"]))
	}
	initialization, _, _ := unstructured.NestedMap(object.Object, "status", "initialization")
	return fmt.Sprintf("%v not true: %s", initialization, strings.Join(words, " "))
}
