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
	"errors"
	"fmt"
)

// The kinds of error that callers decide on, to be checked with errors.Is.
// An error that is none of them is unexpected and worth a retry.
var (
	// ErrNotFound: the thing named does not exist.
	ErrNotFound = errors.New("not found")
	// ErrConflict: the state of the world forbids the call; see ConflictError.
	ErrConflict = errors.New("conflict")
	// ErrUnavailable: the engine, or the registry that it contacts, cannot be
	// reached. Trying again later is the remedy.
	ErrUnavailable = errors.New("unavailable")
	// ErrInvalid: the engine refuses the value and will refuse it again.
	ErrInvalid = errors.New("invalid")
	// ErrNoStaticAddresses: the network has no subnet in which containers can be given
	// addresses. It matches ErrInvalid.
	ErrNoStaticAddresses = fmt.Errorf("network without static addresses: %w", ErrInvalid)
	// ErrUnauthorized: a registry refuses the credentials, or a socket the
	// permission.
	ErrUnauthorized = errors.New("unauthorized")
)

// Resource is what a ConflictError is about.
type Resource string

// The resources that can be taken.
const (
	ResourceName     Resource = "name"
	ResourceAddress  Resource = "address"
	ResourceHostPort Resource = "host port"
	ResourceSubnet   Resource = "subnet"
)

// ConflictError says that something that the caller requested is taken. It matches
// ErrConflict.
type ConflictError struct {
	// Resource is what is taken.
	Resource Resource
	// Value is the name, address, port or subnet in question; may be empty
	// when the engine does not report it.
	Value string
	// Holder is the name of the container that has it; empty where another has it, or the
	// engine does not report which.
	Holder string
	// Err is the engine's own error.
	Err error
}

// Error implements error.
func (e *ConflictError) Error() string {
	if e.Err == nil {
		return e.Summary()
	}
	return e.Summary() + ": " + e.Err.Error()
}

// Summary is the error without the engine's own words, which differ with each attempt: they
// have identifiers of what the engine made for it.
func (e *ConflictError) Summary() string {
	text := fmt.Sprintf("%s %s is in use", e.Resource, e.Value)
	if e.Holder != "" {
		text += fmt.Sprintf(" by container %q", e.Holder)
	}
	return text
}

// Unwrap returns the engine's own error.
func (e *ConflictError) Unwrap() error { return e.Err }

// Is reports whether target is ErrConflict.
func (e *ConflictError) Is(target error) bool { return target == ErrConflict }

// IsTaken reports whether err says that the resource is in use.
func IsTaken(err error, resource Resource) bool {
	var conflict *ConflictError
	return errors.As(err, &conflict) && conflict.Resource == resource
}

// ContainerError says what failed, and for which container.
type ContainerError struct {
	// Action is a verb phrase, such as "start".
	Action string
	// Name is the container's.
	Name string
	// Err is why.
	Err error
}

// Failed returns err as a ContainerError. It returns err as it is where that has the name of
// the container already: each layer can name it, and the text has the name once.
func Failed(action, name string, err error) error {
	var inner *ContainerError
	if errors.As(err, &inner) && inner.Name == name {
		return err
	}
	return &ContainerError{Action: action, Name: name, Err: err}
}

// Cause is the error without what failed and for which container, for a text that says both.
func Cause(err error) error {
	var failed *ContainerError
	if errors.As(err, &failed) {
		return failed.Err
	}
	return err
}

// Error implements error.
func (e *ContainerError) Error() string {
	return fmt.Sprintf("%s container %q: %v", e.Action, e.Name, e.Err)
}

// Unwrap returns why.
func (e *ContainerError) Unwrap() error { return e.Err }

// ExitError is the end of a command with an exit code other than 0. It does
// not carry the command's output: that may hold secrets, and the caller has
// it in Output.
type ExitError struct {
	// Code is the exit code, 1 to 255.
	Code int
}

// Error implements error.
func (e *ExitError) Error() string { return fmt.Sprintf("command exited with code %d", e.Code) }

// WithKind gives an engine's error the kind that callers decide on, and keeps
// its text, which says enough. It returns err as it is where kind is nil.
func WithKind(err, kind error) error {
	if kind == nil {
		return err
	}
	return &kindError{kind: kind, err: err}
}

type kindError struct {
	kind, err error
}

func (e *kindError) Error() string   { return e.err.Error() }
func (e *kindError) Unwrap() []error { return []error{e.kind, e.err} }

// IgnoreNotFound returns nil where err says that the thing is absent.
func IgnoreNotFound(err error) error {
	if errors.Is(err, ErrNotFound) {
		return nil
	}
	return err
}
