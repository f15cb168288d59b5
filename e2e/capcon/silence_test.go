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

package capcon_test

import (
	"bufio"
	"context"
	"io"
	"os"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/remotecommand"
	"k8s.io/utils/ptr"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// liveThroughSilence keeps a watch and an exec session open while nothing is
// said on them, and then uses both.
func liveThroughSilence(t *testing.T, config *rest.Config) {
	silence := 10 * time.Minute
	if text := os.Getenv("SILENCE"); text != "" {
		var err error
		if silence, err = time.ParseDuration(text); err != nil {
			t.Fatalf("SILENCE: %v", err)
		}
	}
	cluster := must.Get(kubernetes.NewForConfig(config))(t)
	quiet := quietNamespace(t, cluster)
	watched := must.Get(cluster.CoreV1().ConfigMaps(quiet).Watch(t.Context(), metav1.ListOptions{
		// API servers end a watch by themselves, after half an hour at the earliest.
		FieldSelector: "metadata.name=spoken", TimeoutSeconds: ptr.To(int64(2 * silence / time.Second)),
	}))(t)
	defer watched.Stop()
	session := openSession(t, config, cluster)
	session.says(t, "before")

	began := time.Now()
	select {
	case event, open := <-watched.ResultChan():
		t.Fatalf("the watch said %v (still open: %t) after %s", event.Type, open, time.Since(began))
	case err := <-session.ended:
		t.Fatalf("the exec session ended after %s: %v", time.Since(began), err)
	case <-time.After(silence):
	}

	session.says(t, "after")
	spoken := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "spoken"}}
	must.Get(cluster.CoreV1().ConfigMaps(quiet).Create(t.Context(), spoken, metav1.CreateOptions{}))(t)
	select {
	case event := <-watched.ResultChan():
		if event.Type != watch.Added {
			t.Errorf("the watch said %q, want %q", event.Type, watch.Added)
		}
	case <-time.After(time.Minute):
		t.Error("the watch did not say what happened")
	}
	t.Logf("watch and exec session live after %s without a word", silence)
}

// quietNamespace is one in which nothing but this test makes ConfigMaps of
// the name that it watches.
func quietNamespace(t *testing.T, cluster kubernetes.Interface) string {
	t.Helper()
	namespace := must.Get(cluster.CoreV1().Namespaces().Create(t.Context(), &corev1.Namespace{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "quiet-"},
	}, metav1.CreateOptions{}))(t)
	return namespace.Name
}

// session is a program in a Pod that repeats its input.
type session struct {
	input *io.PipeWriter
	lines chan string
	ended chan error
}

func openSession(t *testing.T, config *rest.Config, cluster kubernetes.Interface) *session {
	t.Helper()
	webPods(t, cluster, 1)
	pods := must.Get(cluster.CoreV1().Pods("default").List(t.Context(), metav1.ListOptions{LabelSelector: "app=servers"}))(t)
	request := cluster.CoreV1().RESTClient().Post().
		Resource("pods").Namespace("default").Name(pods.Items[0].Name).SubResource("exec").
		VersionedParams(&corev1.PodExecOptions{
			Command: []string{"/webtool", "repeat"}, Stdin: true, Stdout: true, Stderr: true,
		}, scheme.ParameterCodec)
	executor := must.Get(remotecommand.NewWebSocketExecutor(config, "GET", request.URL().String()))(t)
	received, input := io.Pipe()
	output, said := io.Pipe()
	opened := &session{input: input, lines: make(chan string), ended: make(chan error, 1)}
	go func() {
		err := executor.StreamWithContext(t.Context(), remotecommand.StreamOptions{Stdin: received, Stdout: said, Stderr: said})
		opened.ended <- err
		_ = said.CloseWithError(io.EOF)
	}()
	go opened.read(t.Context(), output)
	t.Cleanup(func() { _ = input.Close() })
	return opened
}

func (s *session) read(ctx context.Context, output io.Reader) {
	lines := bufio.NewScanner(output)
	for lines.Scan() {
		select {
		case s.lines <- lines.Text():
		case <-ctx.Done():
			return
		}
	}
}

// says sends the program a word and waits until it is repeated.
func (s *session) says(t *testing.T, word string) {
	t.Helper()
	if _, err := io.WriteString(s.input, word+"\n"); err != nil {
		t.Fatalf("say %q: %v", word, err)
	}
	select {
	case line := <-s.lines:
		if line != word {
			t.Errorf("the exec session said %q, want %q", line, word)
		}
	case err := <-s.ended:
		t.Fatalf("the exec session ended: %v", err)
	case <-time.After(time.Minute):
		t.Fatalf("the exec session did not repeat %q", word)
	}
}
