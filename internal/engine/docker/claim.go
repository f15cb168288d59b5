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
	"crypto/rand"
	"fmt"
	"slices"
	"time"

	"github.com/containerd/errdefs"
	"github.com/moby/moby/client"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/adapter"
)

const (
	// claimPoll is how often a waiting claim checks again. Creating a network
	// takes a tenth of a second.
	claimPoll = 25 * time.Millisecond
	// claimLifetime is after how long a claim counts as left behind by one
	// who was interrupted: far longer than creating takes.
	claimLifetime = 15 * time.Second
)

// claim is the right to create a network of a name, among all that create
// networks through this package on one engine.
//
// Docker before version 25 lets two callers create two networks of one name at
// the same moment, and neither of them reliably shows which was first. So
// each creates a volume first, the cheapest object with a label, and continues only
// when it sees no other's volume: of two, at least the second one that lists sees
// both. The one with the greater name removes its volume and waits, so that
// there is always one who gets on.
type claim struct {
	engine *Engine
	volume string
	// created is by the engine's clock, made by ours: from the two, what time
	// it is for the engine.
	created, made time.Time
}

func (e *Engine) claimName(ctx context.Context, name string) (*claim, error) {
	for {
		mine, err := e.makeClaim(ctx, name)
		if err != nil {
			return nil, err
		}
		alone, err := mine.settled(ctx, name)
		if alone {
			return mine, nil
		}
		mine.release(ctx)
		if err == nil {
			err = adapter.Wait(ctx, claimPoll)
		}
		if err == nil {
			err = e.nameFree(ctx, name)
		}
		if err != nil {
			return nil, err
		}
	}
}

func (e *Engine) makeClaim(ctx context.Context, name string) (*claim, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	mine := &claim{engine: e, volume: name + "-claim-" + token(), made: time.Now()}
	// Not interrupted: Docker would continue, and might make the volume after it
	// was removed.
	making, cancel := adapter.Cleanup(ctx)
	defer cancel()
	created, err := e.client.VolumeCreate(making, client.VolumeCreateOptions{
		Name: mine.volume, Labels: map[string]string{engine.LabelCreating: name},
	})
	if err != nil {
		mine.release(ctx)
		return nil, fmt.Errorf("reserve name: %w", typed(err))
	}
	mine.created = parseTime(created.Volume.CreatedAt)
	return mine, nil
}

// settled waits until no other claim is seen, and gives up (false) when there
// is one that goes first.
func (c *claim) settled(ctx context.Context, name string) (bool, error) {
	for {
		others, err := c.others(ctx, name)
		if err != nil {
			return false, err
		}
		if len(others) == 0 {
			return true, nil
		}
		if slices.Min(others) < c.volume {
			return false, nil
		}
		if err := adapter.Wait(ctx, claimPoll); err != nil {
			return false, err
		}
	}
}

// others lists the claims of others, those left behind excepted.
func (c *claim) others(ctx context.Context, name string) ([]string, error) {
	now := c.created.Add(time.Since(c.made))
	return c.engine.tidyClaims(ctx, name, tidying{now: now, except: c.volume})
}

// tidying says what time it is for the engine, and which claim to overlook.
type tidying struct {
	now    time.Time
	except string
}

// tidyClaims removes what interrupted callers left behind while they were
// creating a network of the name, and returns the claims that are alive. Where
// none is, no caller is left that would remove a temporary network.
func (e *Engine) tidyClaims(ctx context.Context, name string, how tidying) ([]string, error) {
	answer, err := e.client.VolumeList(ctx, client.VolumeListOptions{Filters: claimFilter(name)})
	if err != nil {
		return nil, fmt.Errorf("list reservations of name: %w", typed(err))
	}
	var alive []string
	for _, v := range answer.Items {
		switch {
		case v.Name == how.except:
		case how.now.Sub(parseTime(v.CreatedAt)) < claimLifetime:
			alive = append(alive, v.Name)
		default:
			if err := e.RemoveVolume(ctx, v.Name); err != nil {
				return nil, fmt.Errorf("remove orphaned reservation of name: %w", err)
			}
		}
	}
	if len(alive) > 0 {
		return alive, nil
	}
	return nil, e.removeTemporary(ctx, name)
}

func (e *Engine) removeTemporary(ctx context.Context, name string) error {
	networks, err := e.client.NetworkList(ctx, client.NetworkListOptions{Filters: claimFilter(name)})
	if err != nil {
		return fmt.Errorf("list temporary networks: %w", typed(err))
	}
	for _, n := range networks.Items {
		if _, err := e.client.NetworkRemove(ctx, n.ID, client.NetworkRemoveOptions{}); err != nil && !errdefs.IsNotFound(err) {
			return fmt.Errorf("remove temporary network %q: %w", n.Name, typed(err))
		}
	}
	return nil
}

func claimFilter(name string) client.Filters {
	return client.Filters{}.Add("label", engine.LabelCreating+"="+name)
}

// release gives the claim up, also when ctx has ended. A claim that cannot be
// removed is removed as orphaned by the next caller.
func (c *claim) release(ctx context.Context) {
	tidy, cancel := adapter.Cleanup(ctx)
	defer cancel()
	_ = c.engine.RemoveVolume(tidy, c.volume)
}

// token distinguishes what two callers make for one name.
func token() string { return rand.Text() }
