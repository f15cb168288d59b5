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

package daemon

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"os"
	"strings"
	"sync"
	"time"

	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/capi-samples/cluster-api-provider-container/internal/plane"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/pki"
	"github.com/capi-samples/cluster-api-provider-container/internal/plane/supervise"
)

const (
	// clusterPrefix is where the API server keeps Clusters in etcd, followed by
	// namespace/name.
	clusterPrefix = "/registry/cluster.x-k8s.io/clusters/"
	// etcdTimeout bounds reading the names of the Clusters.
	etcdTimeout = 10 * time.Second
	// etcdGrace is more than etcd, which has no client then, takes to stop.
	etcdGrace = 10 * time.Second
	// headerTimeout bounds reading a request on the control socket.
	headerTimeout = 10 * time.Second
)

// listenControl creates the control socket. A request that comes before serveControl waits
// for it.
func (id *identity) listenControl(ctx context.Context) (net.Listener, error) {
	path := id.files.control()
	// The lock says that the process that listened there is gone.
	if err := os.Remove(path); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("remove stale control socket: %w", err)
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "unix", path)
	if err != nil {
		return nil, fmt.Errorf("listen on the control socket: %w", err)
	}
	return listener, nil
}

// serveControl takes requests to retire until ctx ends or the plane is retired.
func (id *identity) serveControl(ctx context.Context, supervisor *supervise.Supervisor, listener net.Listener) error {
	retired := make(chan struct{})
	var one sync.Mutex
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+plane.RetirePath, func(w http.ResponseWriter, _ *http.Request) {
		one.Lock()
		defer one.Unlock()
		select {
		case <-retired:
			id.answer(w, plane.RetireAnswer{})
			return
		default:
		}
		// Not the request's context: who asked may be gone before the API server
		// runs again.
		clusters, err := id.retire(ctx, supervisor)
		if err == nil && len(clusters) == 0 {
			defer close(retired)
		}
		answer := plane.RetireAnswer{Clusters: clusters}
		if err != nil {
			answer.Error = err.Error()
		}
		id.answer(w, answer)
	})
	server := &http.Server{Handler: mux, ReadHeaderTimeout: headerTimeout}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(listener) }()
	select {
	case <-ctx.Done():
	case <-retired:
		id.opts.Log.Info("Management plane is retired")
	case err := <-ended:
		return fmt.Errorf("serve the control socket: %w", err)
	}
	// Answers under way are sent first.
	stop, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
	defer cancel()
	if err := server.Shutdown(stop); err != nil {
		id.opts.Log.Error(err, "Failed to close control socket")
	}
	return nil
}

func (id *identity) answer(w http.ResponseWriter, answer plane.RetireAnswer) {
	if err := json.NewEncoder(w).Encode(answer); err != nil {
		id.opts.Log.Error(err, "Failed to answer retirement request")
	}
}

// retire marks the plane as retired if it has no Cluster, and returns those it
// has. While it looks for the second time the API server is stopped, and with it
// the only way to create one: nothing can happen between the list and the mark.
func (id *identity) retire(ctx context.Context, supervisor *supervise.Supervisor) ([]string, error) {
	clusters, err := id.clusters(ctx)
	if err != nil || len(clusters) > 0 {
		return clusters, err
	}
	if err = id.stopWrites(ctx, supervisor); err == nil {
		clusters, err = id.clusters(ctx)
	}
	if err == nil && len(clusters) == 0 {
		if err = pki.WriteFile(id.files.retired(), []byte(time.Now().UTC().Format(time.RFC3339)+"\n")); err == nil {
			return nil, nil
		}
	}
	return clusters, errors.Join(err, supervisor.Start(ctx, id.apiServerProcess()))
}

// stopWrites stops the API server, immediately: while it has clients it takes up to a
// minute to stop by itself. What it has sent to etcd may still be under way then;
// etcd is restarted, and has either stored it or lost it.
func (id *identity) stopWrites(ctx context.Context, supervisor *supervise.Supervisor) error {
	if err := supervisor.StopProcess(processAPIServer, 0); err != nil {
		return err
	}
	if err := supervisor.StopProcess(processEtcd, etcdGrace); err != nil {
		return err
	}
	return supervisor.Start(ctx, id.etcdProcess())
}

// clusters in etcd, as "namespace/name".
func (id *identity) clusters(ctx context.Context) (names []string, err error) {
	config, err := id.etcdTLS()
	if err != nil {
		return nil, err
	}
	client, err := clientv3.New(clientv3.Config{
		Endpoints: []string{"https://" + loopback(id.opts.Ports.EtcdClient)}, TLS: config, DialTimeout: etcdTimeout,
	})
	if err != nil {
		return nil, fmt.Errorf("connect to etcd: %w", err)
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	ctx, cancel := context.WithTimeout(ctx, etcdTimeout)
	defer cancel()
	response, err := client.Get(ctx, clusterPrefix, clientv3.WithPrefix(), clientv3.WithKeysOnly())
	if err != nil {
		return nil, fmt.Errorf("list Clusters in etcd: %w", err)
	}
	for _, entry := range response.Kvs {
		names = append(names, strings.TrimPrefix(string(entry.Key), clusterPrefix))
	}
	return names, nil
}

// etcdTLS is read from the files each time: certificates are renewed while etcd
// runs.
func (id *identity) etcdTLS() (*tls.Config, error) {
	pair, err := tls.LoadX509KeyPair(id.files.etcdClient(), id.files.etcdClient())
	if err != nil {
		return nil, fmt.Errorf("load etcd client certificate: %w", err)
	}
	config := trusting(id.etcd)
	config.Certificates = []tls.Certificate{pair}
	return config, nil
}
