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

package images

import (
	"context"
	"errors"
	"fmt"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/node"
)

// The images built offline by "make images". The prefix makes their names
// mean the same in Docker and Podman and keeps both from asking a registry.
const (
	offlineNode         = "localhost/capcon/node:"
	offlineLoadBalancer = "localhost/capcon/haproxy:2.6"
	offlinePlane        = "localhost/capcon/plane:dev"
)

// The public images, without a registry.
const (
	publicNode         = "kindest/node:"
	publicLoadBalancer = "library/haproxy:3.2"
	publicPlane        = "capcon/plane:dev"
)

// Use is what an image is for.
type Use string

// The uses of images.
const (
	Node         Use = "node"
	LoadBalancer Use = "load balancer"
	Plane        Use = "management plane"
)

// flags name the flag that chooses the image for a use.
var flags = map[Use]string{Node: "--image", LoadBalancer: "--load-balancer-image", Plane: "--plane-image"}

// Wish is what the user said about the image for a use.
type Wish struct {
	Use Use
	// Named by the user; empty = to be chosen.
	Named string
	// Registry that the user named; empty = none.
	Registry string
	// KubernetesVersion of a node image.
	KubernetesVersion string
}

// Inspector is what choosing needs of an engine.
type Inspector interface {
	InspectImage(ctx context.Context, reference string) (engine.Image, error)
}

// Choose returns the reference of the image to use. The engine need not have
// it. No node image is known for the Kubernetes version, and none was named:
// *node.VersionError.
func Choose(ctx context.Context, e Inspector, wish Wish) (string, error) {
	if wish.Named != "" {
		return wish.Named, nil
	}
	if wish.Registry != "" {
		return wish.Registry + "/" + wish.mirrored(), nil
	}
	offline := wish.offline()
	_, err := e.InspectImage(ctx, offline)
	switch {
	case err == nil:
		return offline, nil
	case errors.Is(err, engine.ErrNotFound):
		return wish.public()
	}
	return "", fmt.Errorf("look for image %q: %w", offline, err)
}

func (w Wish) offline() string {
	switch w.Use {
	case LoadBalancer:
		return offlineLoadBalancer
	case Plane:
		return offlinePlane
	case Node:
	}
	return offlineNode + w.KubernetesVersion
}

// public is the image that the provider itself would take.
func (w Wish) public() (string, error) {
	if w.Use != Node {
		return w.mirrored(), nil
	}
	image, err := node.Image(w.KubernetesVersion)
	if err != nil {
		return "", fmt.Errorf("choose node image: %w; name an image with %s, or choose a known version", err, flags[Node])
	}
	return image, nil
}

// mirrored is the name of the public image in a registry of the user's.
func (w Wish) mirrored() string {
	switch w.Use {
	case LoadBalancer:
		return publicLoadBalancer
	case Plane:
		return publicPlane
	case Node:
	}
	return publicNode + w.KubernetesVersion
}

// MissingError says that the engine does not have an image and cannot get it.
type MissingError struct {
	Use       Use
	Reference string
	// Err is why it cannot be fetched.
	Err error
}

// Error implements error. It names what each kind of user can do.
func (e *MissingError) Error() string {
	why := "its registry cannot be reached"
	switch {
	case errors.Is(e.Err, engine.ErrNotFound):
		why = "its registry does not have it"
	case errors.Is(e.Err, engine.ErrUnauthorized):
		why = "its registry refuses the credentials; log in with the engine's own command"
	case !errors.Is(e.Err, engine.ErrUnavailable):
		why = "it cannot be fetched"
	}
	return fmt.Sprintf("image %q for the %s is not there, and %s: build it with \"make images\", "+
		"load it with \"capcon images load FILE\", or name another with %s or --registry (%v)",
		e.Reference, e.Use, why, flags[e.Use], e.Err)
}

// Unwrap returns the cause.
func (e *MissingError) Unwrap() error { return e.Err }

// Ensure sees to it that the engine has the image, and fetches it if not.
// Progress may be nil. Where it cannot be had: a *MissingError.
func Ensure(ctx context.Context, e engine.Images, use Use, image string, progress func(engine.PullProgress)) error {
	_, err := e.InspectImage(ctx, image)
	if err == nil {
		return nil
	}
	if !errors.Is(err, engine.ErrNotFound) {
		return fmt.Errorf("look for image %q: %w", image, err)
	}
	credentials, err := storedCredentials(image)
	if err != nil {
		return err
	}
	err = e.PullImage(ctx, image, credentials, progress)
	if err != nil && ctx.Err() == nil {
		return &MissingError{Use: use, Reference: image, Err: err}
	}
	return err
}
