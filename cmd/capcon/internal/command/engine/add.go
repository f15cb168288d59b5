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
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/util/retry"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/conditions"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/images"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/progress"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/session"
	"github.com/capi-samples/cluster-api-provider-container/internal/endpoint"
	kinds "github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/remote"
	"github.com/capi-samples/cluster-api-provider-container/internal/engineobject"
)

// step of the board that waits for the engine to respond.
const stepRespond = "engine responds"

// settled is the time after which a condition is not that of former credentials: they are read every 15 seconds.
const settled = 20 * time.Second

// request of add.
type request struct {
	name string
	at   endpoint.Endpoint
	// files of the credentials, by the key of the Secret.
	files                           map[string]*string
	advertiseAddress, failureDomain string
	labels                          map[string]string
	timeout                         time.Duration
}

func addCommand(a *session.App) *cobra.Command {
	r := request{files: map[string]*string{}}
	command := &cobra.Command{
		Use:   "add NAME ENDPOINT",
		Short: "Have the management cluster use an engine of another host, or change how it is reached",
		Long: "Have the management cluster use an engine of another host. ENDPOINT is ssh://USER@HOST[:PORT][/SOCKET] or\n" +
			"tcp://HOST[:PORT] with TLS. The management cluster is started again with that endpoint as an allowed one, and is kept\n" +
			"until \"capcon plane down\". The credentials are stored in it, in Secret NAME-credentials. For an engine that there is, endpoint and\n" +
			"credentials are replaced.",
		Example: "  capcon engine add build ssh://capcon@build.example.org --ssh-key engine-key --known-hosts known_hosts\n" +
			"  capcon engine add build tcp://build.example.org --tls-ca ca.pem --tls-cert cert.pem --tls-key key.pem",
		Args: oneEngine(2),
		RunE: func(command *cobra.Command, args []string) error {
			at, err := endpoint.Parse(args[1])
			if err != nil {
				return input.Refuse(input.Problem{Field: "ENDPOINT", Reason: err.Error(), Remedy: "see \"" + a.Program + " engine add --help\""})
			}
			r.name, r.at = args[0], at
			data, err := r.read()
			if err != nil {
				return err
			}
			return session.OnEngine(a.Connect, func(ctx context.Context, s *session.Session, _ []string) error {
				return add(ctx, s, r, data)
			})(command, args)
		},
		ValidArgsFunction: cobra.NoFileCompletions,
	}
	flags := command.Flags()
	file := func(key, flag, usage string) { r.files[key] = flags.String(flag, "", usage) }
	file(infrav1.EngineSSHKeyKey, "ssh-key", "file with the private key for ssh, without a passphrase")
	file(infrav1.EngineKnownHostsKey, "known-hosts", "file with the public keys of the host for ssh, as ssh-keyscan prints them")
	file(infrav1.EngineCAKey, "tls-ca", "file with the certificate of the authority for tcp")
	file(infrav1.EngineCertificateKey, "tls-cert", "file with the certificate for tcp")
	file(infrav1.EngineKeyKey, "tls-key", "file with the key of that certificate")
	flags.StringVar(&r.advertiseAddress, "advertise-address", "",
		"address or name by which nodes and users reach ports of the host (default: the host of the endpoint)")
	flags.StringVar(&r.failureDomain, "failure-domain", "", "failure domain of machines on the engine")
	flags.StringToStringVar(&r.labels, "label", nil, "labels for spec.engineSelector of clusters, such as zone=a")
	session.AddTimeout(command, &r.timeout)
	return command
}

// read the credentials, which have to be usable for the endpoint.
func (r request) read() (map[string][]byte, error) {
	flagOf := map[string]string{
		infrav1.EngineSSHKeyKey: "--ssh-key", infrav1.EngineKnownHostsKey: "--known-hosts",
		infrav1.EngineCAKey: "--tls-ca", infrav1.EngineCertificateKey: "--tls-cert", infrav1.EngineKeyKey: "--tls-key",
	}
	needed := []string{infrav1.EngineCAKey, infrav1.EngineCertificateKey, infrav1.EngineKeyKey}
	if r.at.Scheme == "ssh" {
		needed = []string{infrav1.EngineSSHKeyKey, infrav1.EngineKnownHostsKey}
	}
	data := map[string][]byte{}
	var problems []input.Problem
	for _, key := range needed {
		path := *r.files[key]
		if path == "" {
			problems = append(problems, input.Problem{Field: flagOf[key], Reason: "missing", Remedy: fmt.Sprintf("endpoint %s needs it", r.at)})
			continue
		}
		content, err := os.ReadFile(path)
		if err != nil {
			return nil, fmt.Errorf("read credentials: %w", err)
		}
		data[key] = content
	}
	if len(problems) > 0 {
		return nil, input.Refuse(problems...)
	}
	dialer, err := remote.New(r.at, engineobject.CredentialsOf(data))
	if err != nil {
		return nil, err //nolint:wrapcheck // It says which of the credentials.
	}
	dialer.Close()
	return data, nil
}

func add(ctx context.Context, s *session.Session, r request, data map[string][]byte) error {
	limited, cancel := session.Within(ctx, r.timeout)
	defer cancel()
	b := s.NewBoard("Adding engine " + r.name)
	b.Finished(session.StepEngine, s.ChosenEngine())
	err := r.add(limited, s, b, data)
	b.Close()
	if err != nil {
		return err
	}
	s.Printf("\nEngine %s is ready. Create a cluster on it with \"%s up NAME --engine-name %s\".", r.name, s.Program, r.name)
	return nil
}

func (r request) add(ctx context.Context, s *session.Session, b *progress.Board, data map[string][]byte) error {
	if err := ensurePlane(ctx, s, b, r.name, pattern(r.at)); err != nil {
		return err
	}
	err := s.RetryTransient(ctx, func() error {
		if err := management.Keep(ctx, s.Client); err != nil {
			return err
		}
		return r.apply(ctx, s.Client, data)
	})
	if err != nil {
		return err
	}
	if err := r.await(ctx, s, b); err != nil {
		return err
	}
	return r.verify(ctx, s)
}

// verify that the engine accepts these credentials: the management plane may still have a connection with those of before. That this
// program does not reach the engine otherwise is for the commands that need it.
func (r request) verify(ctx context.Context, s *session.Session) error {
	_, err := s.OnNamed(ctx, client.ObjectKey{Namespace: management.Namespace, Name: r.name})
	if errors.Is(err, kinds.ErrUnauthorized) {
		return fmt.Errorf("engine is added, and one side does not trust the other: %w", err)
	}
	return nil
}

// pattern that allows one endpoint in the namespace of the engines.
func pattern(at endpoint.Endpoint) string { return management.Namespace + "=" + at.String() }

// ensurePlane makes sure that the management plane allows the endpoints of its engines, with these patterns for one of
// them; none = that one is gone. What it allows is known from the engines, which it does not have before it runs.
func ensurePlane(ctx context.Context, s *session.Session, b *progress.Board, name string, patterns ...string) error {
	before, err := s.Plane.State(ctx)
	if err != nil {
		return err //nolint:wrapcheck // It says what was read.
	}
	if before.InMemory {
		return &session.InMemoryError{Where: s.ManagementCluster(), Program: s.Program}
	}
	if images.SkewOfPlane(before.Image).Order < 0 {
		before.Image = "" // of an earlier release, which may not know the flag: that of this program replaces it
	}
	image, err := s.PlaneImage(ctx, b, input.Request{}, before)
	if err != nil {
		return err
	}
	if !before.Exists {
		s.SetAllowedEngines(patterns)
	}
	if _, err := s.EnsurePlane(ctx, b, before, image); err != nil || !before.Exists {
		return err
	}
	present, err := s.ContainerEngines(ctx)
	if err != nil {
		return err
	}
	for i := range present {
		if at, err := endpoint.Parse(present[i].Spec.Endpoint); err == nil && present[i].Name != name {
			patterns = append(patterns, pattern(at))
		}
	}
	slices.Sort(patterns)
	s.SetAllowedEngines(slices.Compact(patterns))
	_, err = s.EnsurePlane(ctx, b, before, image)
	return err
}

// apply the engine and its Secret.
func (r request) apply(ctx context.Context, c client.Client, data map[string][]byte) error {
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: management.Namespace, Name: secretOf(r.name)}}
	if err := write(ctx, c, secret, func() error {
		metav1.SetMetaDataLabel(&secret.ObjectMeta, clusterctlv1.ClusterctlMoveLabel, "")
		secret.Data = data
		return nil
	}); err != nil {
		return fmt.Errorf("write Secret %q: %w", secret.Name, err)
	}
	engine := &infrav1.ContainerEngine{ObjectMeta: metav1.ObjectMeta{Namespace: management.Namespace, Name: r.name}}
	if err := write(ctx, c, engine, func() error {
		for key, value := range r.labels {
			metav1.SetMetaDataLabel(&engine.ObjectMeta, key, value)
		}
		engine.Spec.Endpoint, engine.Spec.CredentialsSecretName = r.at.String(), secret.Name
		if r.advertiseAddress != "" {
			engine.Spec.AdvertiseAddress = r.advertiseAddress
		}
		if r.failureDomain != "" {
			engine.Spec.FailureDomain = r.failureDomain
		}
		return nil
	}); err != nil {
		return fmt.Errorf("write ContainerEngine %q: %w", engine.Name, err)
	}
	return nil
}

// write an object, again where it was changed meanwhile: the manager writes the finalizer and reservations of an engine.
func write(ctx context.Context, c client.Client, object client.Object, change controllerutil.MutateFn) error {
	return retry.RetryOnConflict(retry.DefaultRetry, func() error {
		_, err := controllerutil.CreateOrUpdate(ctx, c, object, change)
		return err
	})
}

func secretOf(name string) string { return name + "-credentials" }

// await that the engine responds. What is wrong with it can be corrected: the object is kept.
func (r request) await(ctx context.Context, s *session.Session, b *progress.Board) error {
	b.Waiting(stepRespond, "connecting")
	started := s.Now()
	engine := &infrav1.ContainerEngine{}
	for {
		err := s.Client.Get(ctx, client.ObjectKey{Namespace: management.Namespace, Name: r.name}, engine)
		if err != nil && !session.Transient(err) {
			return fmt.Errorf("get ContainerEngine: %w", err)
		}
		reachable := conditions.Get(engine, infrav1.EngineReachableCondition)
		switch {
		case err != nil, reachable == nil, reachable.ObservedGeneration != engine.Generation:
		case reachable.Status == metav1.ConditionTrue:
			b.Finished(stepRespond, engine.Status.Product+" "+engine.Status.Version)
			return nil
		case reachable.Status == metav1.ConditionFalse && s.Now().Sub(started) > settled:
			return fmt.Errorf("engine %q is added, and not reached: %s: %s; add it again with other values, or remove it with \"%s engine remove %s\"",
				r.name, reachable.Reason, reachable.Message, s.Program, r.name)
		}
		if err := s.Pause(ctx); err != nil {
			return fmt.Errorf("engine %q is added, and not connected to yet: %w", r.name, err)
		}
	}
}
