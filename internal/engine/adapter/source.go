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

package adapter

import (
	"errors"
	"io"
	"sync/atomic"
)

// Source records an error of what it reads from, which a client would report as a
// broken connection.
type Source struct {
	Reader  io.Reader
	err     error
	stopped atomic.Bool
}

// Read implements io.Reader.
func (s *Source) Read(p []byte) (int, error) {
	n, err := s.Reader.Read(p)
	if err != nil && !errors.Is(err, io.EOF) && !s.stopped.Load() {
		s.err = err
	}
	return n, err
}

// stop ends a read that waits for what is not needed any more. Its error is none.
func (s *Source) stop() {
	s.stopped.Store(true)
	if closer, ok := s.Reader.(io.Closer); ok {
		_ = closer.Close()
	}
}

// Or returns the reader's own error, or else the other.
func (s *Source) Or(err error) error {
	if s.err != nil {
		return s.err
	}
	return err
}
