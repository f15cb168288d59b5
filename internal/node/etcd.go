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

package node

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
)

const (
	// etcdManifest is the static Pod of an etcd member that kubeadm set up.
	etcdManifest = "/etc/kubernetes/manifests/etcd.yaml"
	// etcdSeconds bound each request to etcd, which answers within milliseconds.
	etcdSeconds = 5
)

// Etcd is what removing a member of etcd needs of an engine.
type Etcd interface {
	engine.Archiver
	engine.Executor
}

// ErrNoEtcd: the control plane in a container has no etcd of kubeadm's: it has not joined yet,
// its bootstrap failed early, or the cluster uses an external etcd.
var ErrNoEtcd = errors.New("the container has no etcd")

// RemoveEtcdMember removes the member of etcd that has one of the addresses, by way of
// the member in another control plane's container, which needs no API server. It succeeds
// only where etcd answers that there is no such member any more. A container without etcd
// is ErrNoEtcd; where etcd has no quorum, or refuses, it returns etcd's message.
func RemoveEtcdMember(ctx context.Context, containers Etcd, container string, addresses []netip.Addr) error {
	_, err := engine.ReadFile(ctx, containers, container, etcdManifest)
	if errors.Is(err, engine.ErrNotFound) {
		return ErrNoEtcd
	}
	if err != nil {
		return err
	}
	// Linearizable: a member that lags behind, or is cut off, does not know of all others.
	members, err := askEtcd(ctx, containers, container, "member/list", map[string]bool{"linearizable": true})
	if err != nil {
		return fmt.Errorf("list etcd members: %w", err)
	}
	for _, member := range members {
		if !member.has(addresses) {
			continue
		}
		request := map[string]string{"ID": member.ID}
		if _, err := askEtcd(ctx, containers, container, "member/remove", request); err != nil {
			return fmt.Errorf("remove etcd member %s: %w", member.ID, err)
		}
	}
	return nil
}

// etcdMember of etcd's JSON API.
type etcdMember struct {
	ID       string   `json:"ID"`
	PeerURLs []string `json:"peerURLs"`
}

func (m etcdMember) has(addresses []netip.Addr) bool {
	return slices.ContainsFunc(m.PeerURLs, func(text string) bool {
		peer, err := url.Parse(text)
		if err != nil {
			return false
		}
		address, err := netip.ParseAddr(peer.Hostname())
		return err == nil && slices.Contains(addresses, address)
	})
}

// askEtcd sends a request to the member in a container, through the JSON API that etcd
// serves alongside gRPC, with the certificate that the API server uses. It returns the members
// of etcd.
func askEtcd(ctx context.Context, containers engine.Executor, container, method string, request any) ([]etcdMember, error) {
	body, err := json.Marshal(request)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	// curl's own limit does not end a command in a container that is frozen.
	limited, cancel := context.WithTimeout(ctx, 2*etcdSeconds*time.Second)
	defer cancel()
	output, err := containers.Exec(limited, container, engine.Command{Args: []string{
		"curl", "--silent", "--fail-with-body", "--max-time", strconv.Itoa(etcdSeconds),
		"--cacert", "/etc/kubernetes/pki/etcd/ca.crt",
		"--cert", "/etc/kubernetes/pki/apiserver-etcd-client.crt",
		"--key", "/etc/kubernetes/pki/apiserver-etcd-client.key",
		"--data", string(body), "https://127.0.0.1:2379/v3/cluster/" + method,
	}})
	var answer struct {
		Members []etcdMember `json:"members"`
		Message string       `json:"message"`
	}
	decodeErr := json.Unmarshal(output.Stdout, &answer)
	var exit *engine.ExitError
	switch {
	case errors.As(err, &exit) && answer.Message != "":
		return nil, fmt.Errorf("etcd answers: %s", answer.Message)
	case errors.As(err, &exit):
		// curl's own words have the time that it took.
		return nil, fmt.Errorf("etcd does not answer (curl: exit code %d)", exit.Code)
	case err != nil:
		return nil, err
	case decodeErr != nil:
		return nil, fmt.Errorf("decode etcd response: %w", decodeErr)
	}
	return answer.Members, nil
}
