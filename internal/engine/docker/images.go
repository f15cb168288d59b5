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

package docker

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/api/pkg/authconfig"
	"github.com/moby/moby/api/types/jsonstream"
	"github.com/moby/moby/api/types/registry"
	"github.com/moby/moby/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

// InspectImage implements engine.Images.
func (e *Engine) InspectImage(ctx context.Context, reference string) (engine.Image, error) {
	if err := e.open(ctx); err != nil {
		return engine.Image{}, err
	}
	raw, err := e.client.ImageInspect(ctx, reference)
	if err != nil {
		return engine.Image{}, fmt.Errorf("inspect image %q: %w", reference, typed(err))
	}
	out := engine.Image{ID: raw.ID, Tags: raw.RepoTags, Digests: raw.RepoDigests, SizeBytes: raw.Size, Architecture: raw.Architecture}
	if raw.Config != nil {
		out.Labels = raw.Config.Labels
	}
	return out, nil
}

// LoadImage implements engine.Images.
func (e *Engine) LoadImage(ctx context.Context, archive io.Reader) error {
	if err := e.open(ctx); err != nil {
		return err
	}
	fail := func(err error) error { return fmt.Errorf("load image: %w", err) }
	source := &adapter.Source{Reader: archive}
	stream, err := e.client.ImageLoad(ctx, source)
	if err := source.Or(typed(err)); err != nil {
		return fail(err)
	}
	defer stream.Close()
	if err := messages(stream, func(jsonstream.Message) {}); err != nil {
		return fail(typed(err))
	}
	return nil
}

// SaveImage implements engine.Images.
func (e *Engine) SaveImage(ctx context.Context, reference string) (io.ReadCloser, error) {
	// Found first: an older engine answers with an archive of nothing.
	if _, err := e.InspectImage(ctx, reference); err != nil {
		return nil, err
	}
	stream, err := e.client.ImageSave(ctx, []string{reference})
	if err != nil {
		return nil, fmt.Errorf("save image %q: %w", reference, typed(err))
	}
	return stream, nil
}

// messages reads a stream of progress to its end. An error that the engine
// reports within the stream is returned.
func messages(stream io.Reader, handle func(jsonstream.Message)) error {
	return typed(engine.Messages(stream, func(message jsonstream.Message) error {
		if message.Error != nil {
			return message.Error
		}
		handle(message)
		return nil
	}))
}

// PullImage implements engine.Images.
func (e *Engine) PullImage(ctx context.Context, name string, credentials *engine.Credentials, progress func(engine.PullProgress)) error {
	if err := e.open(ctx); err != nil {
		return err
	}
	fail := func(err error) error { return fmt.Errorf("pull image %q: %w", name, err) }
	parsed, err := adapter.ParseReference(name)
	if err != nil {
		return fail(errors.Join(engine.ErrInvalid, err))
	}
	var options client.ImagePullOptions
	if credentials != nil {
		options.RegistryAuth, err = authconfig.Encode(authConfig(parsed, credentials))
		if err != nil {
			return fail(fmt.Errorf("encode credentials: %w", err))
		}
	}
	stream, err := e.client.ImagePull(ctx, parsed.Name, options)
	if err != nil {
		return fail(e.explainPull(ctx, parsed, credentials, err))
	}
	defer stream.Close()

	layers := layers{}
	err = messages(stream, func(message jsonstream.Message) {
		if layers.note(message) && progress != nil {
			progress(layers.sum())
		}
	})
	if err != nil {
		return fail(inStream(err))
	}
	return nil
}

// authConfig of nil credentials is that of an anonymous user.
func authConfig(name adapter.Reference, credentials *engine.Credentials) registry.AuthConfig {
	config := registry.AuthConfig{ServerAddress: name.Registry}
	if credentials != nil {
		config.Username, config.Password = credentials.Username, credentials.Password
	}
	return config
}

// explainPull gives a pull that did not begin its kind. Docker answers 404 for
// an image that is absent or private, and 500 for everything else, whether the
// registry refused the credentials or could not be reached: these are tried by
// themselves, which has a status of its own. What is left is
// the way to the registry: name, route, certificate, its own failure.
func (e *Engine) explainPull(ctx context.Context, name adapter.Reference, credentials *engine.Credentials, cause error) error {
	known := typed(cause)
	isAbsent := errors.Is(known, engine.ErrNotFound)
	if !isAbsent && kindOf(cause) != nil || ctx.Err() != nil {
		return known
	}
	if credentials != nil || !isAbsent {
		config := authConfig(name, credentials)
		_, err := e.client.RegistryLogin(ctx, client.RegistryLoginOptions{
			Username: config.Username, Password: config.Password, ServerAddress: config.ServerAddress,
		})
		if errdefs.IsUnauthorized(err) || saysRefused(err) {
			return engine.WithKind(cause, engine.ErrUnauthorized)
		}
	}
	if isAbsent {
		return known
	}
	if errdefs.IsPermissionDenied(cause) {
		return engine.WithKind(cause, engine.ErrUnauthorized)
	}
	return engine.WithKind(cause, engine.ErrUnavailable)
}

// saysRefused reads Docker's words about a login that did not succeed. Docker
// answers 401 only where the registry hands out tokens; where it asks for a
// password directly, 500 with the registry's status in the text, or with what
// it misses, the same from 20.10 to 28. Should the words change, the pull still
// fails with its cause, as if the registry could not be reached.
func saysRefused(err error) bool {
	return err != nil && adapter.Says(err.Error(), "failed with status: 401", "failed with status: 403", "no basic auth credentials")
}

// inStream gives an error that came after the pull had started its kind where it
// has a code; most have none and are worth another try.
func inStream(err error) error {
	var reported *jsonstream.Error
	if errors.As(err, &reported) {
		return engine.WithKind(err, streamCodes[reported.Code])
	}
	return err
}

// streamCodes are the kinds of the codes that the errors of a stream have.
var streamCodes = map[int]error{
	http.StatusUnauthorized:       engine.ErrUnauthorized,
	http.StatusForbidden:          engine.ErrUnauthorized,
	http.StatusNotFound:           engine.ErrNotFound,
	http.StatusServiceUnavailable: engine.ErrUnavailable,
	http.StatusBadGateway:         engine.ErrUnavailable,
	http.StatusGatewayTimeout:     engine.ErrUnavailable,
}

// layers adds up what the messages of a pull say of each layer.
type layers map[string]layer

type layer struct {
	current, total int64
	done           bool
	// phase of the layer, and what Docker says of it.
	phase   string
	inPhase int64
}

// note reports whether the message is progress of a layer. The message of a tag
// ("Pulling from …") has an ID too, but none of the phases; the containerd image
// store repeats the last message at intervals.
func (l layers) note(message jsonstream.Message) bool {
	before, known := l[message.ID]
	at := before
	at.phase = message.Status
	if message.Progress != nil {
		at.inPhase = message.Progress.Current
	}
	switch message.Status {
	case "Pulling fs layer", "Waiting":
	case "Downloading":
		if message.Progress != nil {
			at.current, at.total = message.Progress.Current, max(message.Progress.Total, message.Progress.Current)
		}
	case "Download complete", "Verifying Checksum", "Extracting":
		at.current = at.total
	case "Pull complete", "Already exists":
		at.current, at.done = at.total, true
	default:
		return false
	}
	l[message.ID] = at
	return !known || at != before
}

func (l layers) sum() engine.PullProgress {
	out := engine.PullProgress{LayersTotal: len(l)}
	for _, at := range l {
		out.CurrentBytes += at.current
		out.TotalBytes += at.total
		if at.done {
			out.LayersDone++
		}
	}
	return out
}
