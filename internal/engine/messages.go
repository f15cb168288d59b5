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

package engine

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// MaxMessageBytes is the limit of one message of an engine's stream: an event, or the progress of a pull, which repeats
// the text of a registry's errors.
// +limit
const MaxMessageBytes = 1 << 20

// ErrMessageTooLarge is returned for a message that exceeds MaxMessageBytes.
var ErrMessageTooLarge = fmt.Errorf("message exceeds the limit of %d MiB", MaxMessageBytes>>20)

// Messages reads a stream of JSON values and calls handle for each, until the
// stream ends or handle returns an error, which it returns.
func Messages[T any](stream io.Reader, handle func(T) error) error {
	bounded := &messageReader{stream: stream}
	bounded.decoder = json.NewDecoder(bounded)
	for {
		var message T
		if err := bounded.decoder.Decode(&message); errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return err
		}
		if err := handle(message); err != nil {
			return err
		}
	}
}

// messageReader refuses to read more for the message that is being decoded
// once its decoder holds MaxMessageBytes of it.
type messageReader struct {
	stream  io.Reader
	decoder *json.Decoder
	read    int64
}

// Read implements io.Reader.
func (r *messageReader) Read(p []byte) (int, error) {
	if r.read-r.decoder.InputOffset() > MaxMessageBytes {
		return 0, ErrMessageTooLarge
	}
	n, err := r.stream.Read(p)
	r.read += int64(n)
	return n, err
}
