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
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"

	"sigs.k8s.io/cluster-api/util/conditions"
)

// Limits of messages: what an engine, a registry or a node says may have any length.
const (
	// maxConditionBytes is the limit of a condition's message. The API server refuses a status in which one has more
	// than 32 KiB, and Cluster API joins several into one.
	// +limit
	maxConditionBytes = 4 << 10

	// maxEventBytes is the limit of an event's note, which is the API server's.
	// +limit
	maxEventBytes = 1 << 10
)

// SetCondition sets a condition with a message that the API server accepts.
func SetCondition(object conditions.Setter, condition metav1.Condition) {
	condition.Message = shorten(condition.Message, maxConditionBytes)
	conditions.Set(object, condition)
}

// Events returns a recorder whose notes the API server accepts.
func Events(recorder events.EventRecorder) events.EventRecorder { return shortened{recorder} }

type shortened struct{ events.EventRecorder }

// Eventf implements events.EventRecorder.
func (s shortened) Eventf(regarding, related runtime.Object, eventType, reason, action, note string, args ...any) {
	s.EventRecorder.Eventf(regarding, related, eventType, reason, action, "%s", shorten(fmt.Sprintf(note, args...), maxEventBytes))
}

// shorten returns text as valid UTF-8 of at most so many bytes, with a mark where the rest is left out.
func shorten(text string, most int) string {
	const mark = "…"
	if len(text) <= most {
		return text
	}
	return strings.ToValidUTF8(text[:most-len(mark)], "") + mark
}
