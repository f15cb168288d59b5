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
	"context"
	"io"
	"time"
)

// Engine is a connection to one container engine, safe for concurrent use.
type Engine interface {
	ContainerReader
	ContainerWriter
	Archiver
	Executor
	Logs
	Images
	Networks
	Volumes
	Inventory
	EventSource
	Host
}

// Containers is what most of the provider needs of an engine.
type Containers interface {
	ContainerReader
	ContainerWriter
	Archiver
	Executor
}

// ContainerReader observes containers.
type ContainerReader interface {
	// InspectContainer returns the container of that exact name or ID.
	// Absent: ErrNotFound.
	InspectContainer(ctx context.Context, name string) (Container, error)

	// ListContainers returns every container, running or not, that carries
	// all labels of the selector (an empty value asks for the key alone),
	// ordered by name. Of each container it fills what Container documents
	// as listed. None is an empty list. It is one request to the engine,
	// however many containers there are.
	ListContainers(ctx context.Context, selector map[string]string) ([]Container, error)
}

// ContainerWriter changes the life of containers. Here and in the other roles,
// name is a container's exact name or ID, never the beginning of one.
type ContainerWriter interface {
	// CreateContainer creates, and neither starts the container nor pulls
	// its image, and returns its ID. Name taken: a ConflictError of
	// ResourceName. Image or network absent: ErrNotFound. A value the engine
	// refuses, such as an absent bind source or an address outside the
	// network's subnets: ErrInvalid. Nothing is left of what was not created.
	// That an address or a host port is taken may be found only at start.
	CreateContainer(ctx context.Context, spec Spec) (id string, err error)

	// StartContainer starts a created or stopped container and succeeds if
	// it runs already. Absent: ErrNotFound. Static address (the gateway's
	// included) or host port taken: a ConflictError of ResourceAddress or
	// ResourceHostPort. Paused, or its network gone: ErrConflict. A program
	// the image does not have, or a CDI device the engine does not know:
	// ErrInvalid. A static address on a network that takes none, as one whose
	// subnet Docker chose: ErrNoStaticAddresses. After an error the container is still there, not running,
	// and can be started later.
	StartContainer(ctx context.Context, name string) error

	// StopContainer sends the stop signal, waits up to the grace period and
	// then kills. It succeeds if the container does not run. Absent:
	// ErrNotFound. A container stopped this way is not started again by its
	// restart policy when the engine restarts.
	StopContainer(ctx context.Context, name string, grace time.Duration) error

	// UpdateResources changes the memory, processor time and number of processes of a container,
	// running or not; what is zero stays as it is, and so do OpenFiles. A running container keeps
	// them until it ends: Podman before 5.1 forgets them then. More than the host has: ErrInvalid,
	// or the same as the host's. Less memory than a running container uses is refused, or ends
	// processes: callers look first. Absent: ErrNotFound.
	UpdateResources(ctx context.Context, name string, resources Resources) error

	// RemoveContainer kills and removes the container with its anonymous
	// volumes; named volumes stay. It succeeds if the container is absent,
	// and returns only when the name can be used again.
	RemoveContainer(ctx context.Context, name string) error
}

// Archiver moves files between the caller and a container, as tar streams.
type Archiver interface {
	// Upload extracts an uncompressed tar below the root of the container's
	// own file system, before its first start as well as later. Owner, mode
	// and symbolic links are kept; directories that are missing are made;
	// an entry below a link to a directory lands in that directory. An error
	// of the reader is returned as it is.
	// Entries below a volume, a bind mount or a tmpfs (and /run, /tmp and
	// /var where they are one) have no defined place: engines differ.
	// Container absent: ErrNotFound.
	Upload(ctx context.Context, name string, archive io.Reader) error

	// Download returns a tar of the file or directory at an absolute path,
	// its entries named relative to the parent of path, with content and
	// mode; the owner may be lost. The path may lie in the container's own
	// file system, whether it runs, or not, or never ran, or below one of its
	// volumes once it ran; not below a tmpfs.
	// Container or path absent: ErrNotFound. The caller closes the stream.
	Download(ctx context.Context, name, path string) (io.ReadCloser, error)
}

// Executor runs a process in a running container.
type Executor interface {
	// Exec runs the command to its end and returns what it printed. An exit
	// code other than 0 is an *ExitError, returned together with the
	// output; a program that is absent or cannot be run ends with 126 or 127,
	// as in a shell. Container absent: ErrNotFound; not running: ErrConflict.
	// When ctx ends the call returns; the process may live on. So does it
	// with ErrTooLarge and the output so far when the command prints more
	// than MaxReadBytes to a stream.
	Exec(ctx context.Context, name string, command Command) (Output, error)
}

// Logs reads what containers print.
type Logs interface {
	// ContainerLog writes to out what the first process of a container has
	// printed on both its streams, also where the container has ended. With
	// Follow it continues with what is printed next until the container ends;
	// when ctx ends it returns its error. An error of out is returned as it
	// is. Container absent: ErrNotFound.
	ContainerLog(ctx context.Context, name string, request LogRequest, out io.Writer) error
}

// Images observes and fetches images.
type Images interface {
	// InspectImage returns a local image by reference or ID. Absent:
	// ErrNotFound. It never asks a registry. A reference without a registry
	// is one of docker.io, or what LoadImage loaded under that name.
	InspectImage(ctx context.Context, reference string) (Image, error)

	// PullImage fetches an image from its registry, docker.io where the
	// reference names none, and shows the credentials to no other. It calls
	// progress (may be nil) when the pull has made some, and only then. An
	// error within the stream is an error of the call. No such image:
	// ErrNotFound. Credentials refused: ErrUnauthorized. Registry not
	// reachable: ErrUnavailable.
	PullImage(ctx context.Context, reference string, credentials *Credentials, progress func(PullProgress)) error

	// LoadImage loads the images of a docker-archive.
	LoadImage(ctx context.Context, archive io.Reader) error

	// SaveImage returns a local image as a docker-archive that has the name of
	// the reference, or the one InspectImage found it by. Absent: ErrNotFound.
	// The caller closes the stream.
	SaveImage(ctx context.Context, reference string) (io.ReadCloser, error)
}

// Networks manages bridge networks.
type Networks interface {
	// CreateNetwork creates a bridge network in which static addresses may
	// be given: dynamic ones come from DynamicSlice of each subnet only.
	// Without a subnet in the spec the engine chooses one that fits the
	// host's routes. Name taken: a ConflictError of ResourceName, also when
	// two callers create concurrently: one of them wins. Subnet taken: a
	// ConflictError of ResourceSubnet. Subnet with host bits set:
	// ErrInvalid. A call that was interrupted does not block the next.
	CreateNetwork(ctx context.Context, spec NetworkSpec) (Network, error)

	// InspectNetwork returns the network of that exact name, in one request,
	// however many containers are attached. Absent: ErrNotFound.
	InspectNetwork(ctx context.Context, name string) (Network, error)

	// RemoveNetwork succeeds if the network is absent. Containers attached,
	// running or not: ErrConflict.
	RemoveNetwork(ctx context.Context, name string) error

	// ConnectNetwork attaches a container and succeeds if it is attached.
	// Network or container absent: ErrNotFound. Address taken: a
	// ConflictError of ResourceAddress.
	ConnectNetwork(ctx context.Context, network, container string, attachment Attachment) error

	// DisconnectNetwork succeeds if the container is not attached.
	DisconnectNetwork(ctx context.Context, network, container string) error
}

// Volumes manages named volumes. A volume is created by the first container
// that mounts it.
type Volumes interface {
	// InspectVolume returns the volume of that name. Absent: ErrNotFound.
	InspectVolume(ctx context.Context, name string) (Volume, error)

	// CreateVolume creates an empty named volume, and succeeds if one of the
	// name exists (its labels are then left as they are).
	CreateVolume(ctx context.Context, name string, labels map[string]string) error

	// RemoveVolume succeeds if the volume is absent. In use: ErrConflict.
	RemoveVolume(ctx context.Context, name string) error
}

// Inventory lists what outlives containers, as ListContainers lists these.
type Inventory interface {
	// ListNetworks returns every network that carries all labels of the
	// selector (an empty value asks for the key alone), ordered by name. Of
	// each it fills ID, Name, Labels, Driver, Subnets and CreatedAt. None is
	// an empty list.
	ListNetworks(ctx context.Context, selector map[string]string) ([]Network, error)

	// ListVolumes does the same for volumes.
	ListVolumes(ctx context.Context, selector map[string]string) ([]Volume, error)
}

// EventSource reports what happened to containers.
type EventSource interface {
	// Events calls handle, never concurrently, for each event of the closed
	// list of EventKind until ctx ends, and then returns. It reconnects by
	// itself; the first event of each connection is an EventRelist: what
	// happened before has to be observed again, and events of the last second
	// may be repeated. Where there is no connection for
	// some seconds, also from the beginning, that is one EventLost. Events that
	// the provider's own reading causes are never reported. Why there is no
	// connection is logged to the logr.Logger of ctx, if it has one.
	Events(ctx context.Context, handle func(Event))
}

// Host describes the engine and the host it runs on.
type Host interface {
	// Info asks the engine. Not reachable: ErrUnavailable, with what was
	// tried and the remedy in its text.
	Info(ctx context.Context) (Info, error)

	// Close releases the connection. Later calls answer ErrUnavailable.
	Close() error
}
