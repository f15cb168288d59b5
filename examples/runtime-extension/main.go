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

// Command runtime-extension is a Runtime Extension of Cluster API: it delays the creation of each
// Cluster until it has the annotation example.com/approved. It creates its own certificate, and
// an ExtensionConfig for it.
package main

import (
	"context"
	"encoding/base64"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"log"
	"net"
	"os"
	"path/filepath"
	"strconv"

	"k8s.io/client-go/util/cert"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"

	runtimecatalog "sigs.k8s.io/cluster-api/api/runtime/catalog"
	runtimehooksv1 "sigs.k8s.io/cluster-api/api/runtime/hooks/v1alpha1"
	"sigs.k8s.io/cluster-api/exp/runtime/server"
)

const approval = "example.com/approved"

type options struct {
	// host and port are where the management plane reaches this process, host as a name or an address.
	host string
	port int
	// dir gets tls.crt, tls.key and extensionconfig.yaml.
	dir string
}

func main() {
	var opts options
	flag.StringVar(&opts.host, "host", "", "name or address by which the management plane reaches this process")
	flag.IntVar(&opts.port, "port", server.DefaultPort, "port to listen on")
	flag.StringVar(&opts.dir, "dir", ".", "directory of the certificate and the ExtensionConfig")
	flag.Parse()
	ctrl.SetLogger(klog.Background())
	if err := run(ctrl.SetupSignalHandler(), opts); err != nil {
		log.Fatal(err)
	}
}

// run serves the extension until ctx ends.
func run(ctx context.Context, opts options) error {
	if err := prepare(opts); err != nil {
		return err
	}
	catalog := runtimecatalog.New()
	if err := runtimehooksv1.AddToCatalog(catalog); err != nil {
		return fmt.Errorf("build catalog: %w", err)
	}
	extension, err := server.New(server.Options{Catalog: catalog, Port: opts.port, CertDir: opts.dir})
	if err != nil {
		return fmt.Errorf("create server: %w", err)
	}
	if err := extension.AddExtensionHandler(server.ExtensionHandler{
		Hook: runtimehooksv1.BeforeClusterCreate, Name: "approve", HandlerFunc: approve,
	}); err != nil {
		return fmt.Errorf("add handler: %w", err)
	}
	if err := extension.Start(ctx); err != nil {
		return fmt.Errorf("serve: %w", err)
	}
	return nil
}

// approve is called each time before Cluster API creates the objects of a Cluster.
func approve(ctx context.Context, request *runtimehooksv1.BeforeClusterCreateRequest, response *runtimehooksv1.BeforeClusterCreateResponse) {
	response.Status = runtimehooksv1.ResponseStatusSuccess
	if _, approved := request.Cluster.Annotations[approval]; !approved {
		ctrl.LoggerFrom(ctx).Info("Cluster waits", "namespace", request.Cluster.Namespace, "name", request.Cluster.Name)
		response.RetryAfterSeconds = 5
		response.Message = "waiting for the annotation " + approval
	}
}

// prepare creates the certificate, which is its own CA, and the ExtensionConfig. What exists stays.
func prepare(opts options) error {
	if opts.host == "" {
		return errors.New("--host is required")
	}
	certificate := filepath.Join(opts.dir, "tls.crt")
	bundle, err := os.ReadFile(certificate)
	if errors.Is(err, fs.ErrNotExist) {
		var key []byte
		if bundle, key, err = cert.GenerateSelfSignedCertKey(opts.host, nil, nil); err != nil {
			return fmt.Errorf("create certificate: %w", err)
		}
		if err := os.WriteFile(filepath.Join(opts.dir, "tls.key"), key, 0o600); err != nil {
			return fmt.Errorf("write key: %w", err)
		}
		err = os.WriteFile(certificate, bundle, 0o600)
	}
	if err != nil {
		return fmt.Errorf("certificate: %w", err)
	}
	manifest := fmt.Sprintf(`apiVersion: runtime.cluster.x-k8s.io/v1beta2
kind: ExtensionConfig
metadata:
  name: example
spec:
  clientConfig:
    url: https://%s
    caBundle: %s
  namespaceSelector: {} # all namespaces
`, net.JoinHostPort(opts.host, strconv.Itoa(opts.port)), base64.StdEncoding.EncodeToString(bundle))
	if err := os.WriteFile(filepath.Join(opts.dir, "extensionconfig.yaml"), []byte(manifest), 0o600); err != nil {
		return fmt.Errorf("write ExtensionConfig: %w", err)
	}
	return nil
}
