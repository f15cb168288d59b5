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

package reconcile

import (
	"strings"
	"testing"
	"unicode/utf8"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
)

// TestMessagesAreBounded proves that no text from outside makes the API server refuse a status or an event.
func TestMessagesAreBounded(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "short", strings.Repeat("x", maxConditionBytes+1), strings.Repeat("ü", maxConditionBytes), "%s%!" + strings.Repeat("漢", 1<<20)} {
		machine := &infrav1.ContainerMachine{}
		SetCondition(machine, metav1.Condition{Type: "Ready", Status: metav1.ConditionFalse, Reason: "Failed", Message: text})
		recorder := events.NewFakeRecorder(1)
		Events(recorder).Eventf(machine, nil, "Warning", "Failed", "Create", "%s", text)
		note := strings.TrimPrefix(<-recorder.Events, "Warning Failed ")
		for most, got := range map[int]string{maxConditionBytes: conditions.Get(machine, "Ready").Message, maxEventBytes: note} {
			if len(text) <= most && got != text || len(got) > most || !utf8.ValidString(got) || len(text) > most && !strings.HasSuffix(got, "…") {
				t.Errorf("%.20q of %d bytes became %d bytes, at most %d are allowed", text, len(text), len(got), most)
			}
		}
	}
}
