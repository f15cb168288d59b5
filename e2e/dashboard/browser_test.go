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

// Package dashboard_test opens the page of "capcon dashboard" in Chromium, while a cluster is created, fails and is
// deleted. The management cluster and the engine are those of the tests of the command, in another process.
package dashboard_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const (
	root = "../.."
	// patience is more than a busy machine needs.
	patience = 2 * time.Minute
	width    = 1100
	height   = 800
)

// stage is the dashboard, and the world that it shows.
type stage struct {
	url    string
	orders io.WriteCloser
	ended  <-chan error
}

func startStage(t *testing.T) *stage {
	t.Helper()
	program := filepath.Join(t.TempDir(), "stage")
	build := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", program, "./cmd/capcon/internal/command/dashboard")
	build.Dir = root
	if output, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, output)
	}
	command := exec.CommandContext(t.Context(), program, "-test.run=^TestStage$", "-test.timeout=1h")
	command.Env = append(os.Environ(), "DASHBOARD_STAGE=yes")
	orders := must.Get(command.StdinPipe())(t)
	printed := must.Get(command.StdoutPipe())(t)
	must.Succeed(t, command.Start())
	lines := bufio.NewReader(printed)
	line := must.Get(lines.ReadString('\n'))(t)
	ended := make(chan error, 1)
	go func() {
		rest, _ := io.ReadAll(lines)
		if err := command.Wait(); err != nil {
			ended <- fmt.Errorf("%w: %s", err, rest)
		}
		close(ended)
	}()
	return &stage{url: regexp.MustCompile(`http://\S+`).FindString(line), orders: orders, ended: ended}
}

func (s *stage) do(t *testing.T, order string) {
	t.Helper()
	must.Get(fmt.Fprintln(s.orders, order))(t)
}

// tab of a browser, with what its console reports as an error.
type tab struct {
	context.Context //nolint:containedctx // chromedp has the tab in a context.

	mutex  sync.Mutex
	errors []string
}

// openTab in a browser of its own.
func openTab(t *testing.T) *tab {
	t.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.WindowSize(width, height), chromedp.WSURLReadTimeout(patience), chromedp.Flag("lang", "en-US"))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium's sandbox refuses root.
	}
	allocator, end := chromedp.NewExecAllocator(t.Context(), options...)
	t.Cleanup(end)
	ctx, endTab := chromedp.NewContext(allocator)
	t.Cleanup(endTab)
	b := &tab{Context: ctx}
	chromedp.ListenTarget(ctx, func(event any) {
		b.mutex.Lock()
		defer b.mutex.Unlock()
		switch event := event.(type) {
		case *runtime.EventExceptionThrown:
			b.errors = append(b.errors, event.ExceptionDetails.Error())
		case *log.EventEntryAdded:
			if event.Entry.Level == log.LevelError {
				b.errors = append(b.errors, event.Entry.Text)
			}
		}
	})
	return b
}

// until an expression in the page is true. The page's policy allows no polling within it.
func (b *tab) until(t *testing.T, expression string) {
	t.Helper()
	must.Eventually(t, patience, expression, func(context.Context) error {
		var reached bool
		if err := chromedp.Run(b, chromedp.Evaluate(expression, &reached)); err != nil {
			return err
		}
		if !reached {
			var text string
			return errors.Join(chromedp.Run(b, chromedp.Evaluate("document.body.innerText", &text)), fmt.Errorf("the page has: %s", text))
		}
		return nil
	})
}

// has says that an element contains a text.
func has(selector, text string) string {
	return fmt.Sprintf("[...document.querySelectorAll(%q)].some((e) => e.textContent.includes(%q))", selector, text)
}

// picture of the page, for the guide.
func (b *tab) picture(t *testing.T, name string) {
	t.Helper()
	directory := os.Getenv("PICTURES")
	if directory == "" {
		return
	}
	const png = 100
	var picture []byte
	must.Succeed(t, chromedp.Run(b, chromedp.FullScreenshot(&picture, png)))
	must.Succeed(t, os.WriteFile(filepath.Join(root, directory, "dashboard-"+name+".png"), picture, 0o644)) //nolint:gosec // It is published.
}

func TestIntegrationDashboard(t *testing.T) {
	if _, err := exec.LookPath("chromium"); err != nil || testing.Short() {
		t.Skip("needs chromium; see make e2e RUN=dashboard")
	}
	s, b := startStage(t), openTab(t)
	must.Succeed(t, chromedp.Run(b, chromedp.Navigate(s.url)))
	b.until(t, has(".notice", "No clusters"))
	b.until(t, "location.hash === ''")

	const cluster = `section[data-cluster="default/demo"]`
	s.do(t, "create")
	b.until(t, has(cluster+" .state", "starting"))
	b.until(t, has(cluster+" .step", "etcd"))
	b.until(t, has(cluster+" .stage", "infrastructure: "))
	b.until(t, has(cluster+" tr[data-machine] td", "the bootstrap runs in container"))
	b.until(t, has(cluster+" .chip", "172.18.0.3:6443 DOWN"))
	b.until(t, has(cluster+" .objects li", "ContainerMachine/demo-control-plane-x7k2p"))
	b.picture(t, "creation")

	s.do(t, "ready")
	b.until(t, has(cluster+" .state", "available")+" && !"+has(cluster+" .state", "not available"))
	b.until(t, has(cluster+" .chip", "172.18.0.3:6443 UP"))

	s.do(t, "fail")
	b.until(t, has(cluster+" .trouble", "ContainerCrashLoop"))
	b.until(t, has(cluster+" tr[data-machine] .bad", "exited"))
	open := "[...document.querySelectorAll('summary')].find((e) => e.textContent.includes('ContainerMachine/demo-md-0')).click()"
	must.Succeed(t, chromedp.Run(b, chromedp.Evaluate(open, nil)))
	b.until(t, has("details[open] td", "BootstrapCompleted"))
	b.picture(t, "failure")

	s.do(t, "lose")
	b.until(t, has("#banner:not([hidden])", "The management cluster does not respond since"))
	b.until(t, has(".stale .trouble", "ContainerCrashLoop"))
	s.do(t, "find")
	b.until(t, "document.querySelector('#banner').hidden")
	b.until(t, has("details[open] td", "BootstrapCompleted")) // what its user opened stays open

	s.do(t, "deleting")
	b.until(t, has(cluster+" .state", "deleting")+" && !"+has(cluster+" tr[data-machine]", "demo-md-0"))
	b.picture(t, "deletion")
	s.do(t, "deleted")
	b.until(t, has(".notice", "No clusters"))

	must.Succeed(t, chromedp.Run(b, chromedp.Reload())) // The tab keeps the token.
	b.until(t, has(".notice", "No clusters"))
	if len(b.errors) > 0 {
		t.Errorf("The console has errors: %s", strings.Join(b.errors, "\n"))
	}

	other := openTab(t)
	must.Succeed(t, chromedp.Run(other, chromedp.Navigate(strings.Split(s.url, "#")[0])))
	other.until(t, has("#banner:not([hidden])", "Use the link that capcon dashboard printed."))

	must.Succeed(t, s.orders.Close())
	must.Succeed(t, <-s.ended)
	b.until(t, has("#banner:not([hidden])", "capcon dashboard does not respond since"))
}
