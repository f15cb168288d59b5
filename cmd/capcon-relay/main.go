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

// Command capcon-relay runs haproxy and relays UDP to haproxy's backends, as the first process of
// a load balancer's container:
//
//	capcon-relay haproxy -W -db -f /usr/local/etc/haproxy/haproxy.cfg
//
// It passes signals on, and ends with haproxy.
package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"syscall"

	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
	"github.com/capi-samples/cluster-api-provider-container/internal/udprelay"
)

func main() {
	code, err := run(os.Args[1:])
	if err != nil {
		logf("%v", err)
	}
	os.Exit(code)
}

func logf(format string, arguments ...any) {
	fmt.Fprintf(os.Stderr, "capcon-relay: "+format+"\n", arguments...)
}

var errUsage = errors.New("usage: capcon-relay haproxy ARGUMENTS")

// run returns the exit code: that of haproxy where it ends.
func run(arguments []string) (int, error) {
	if len(arguments) == 0 {
		return 2, errUsage
	}
	path, err := exec.LookPath(arguments[0])
	if err != nil {
		return 1, fmt.Errorf("find program: %w", err)
	}
	signals := make(chan os.Signal, 8)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGINT, syscall.SIGUSR1, syscall.SIGUSR2)
	process, err := os.StartProcess(path, arguments, &os.ProcAttr{Files: []*os.File{os.Stdin, os.Stdout, os.Stderr}})
	if err != nil {
		return 1, fmt.Errorf("start program: %w", err)
	}
	follower := udprelay.Follower{
		ConfigPath: haproxy.ConfigPath, StatusAddress: net.JoinHostPort("127.0.0.1", strconv.Itoa(haproxy.StatusPort)),
		Log: func(message string) { logf("%s", message) },
	}
	reload := make(chan struct{}, 1)
	failed := make(chan error, 1)
	go func() { failed <- follower.Run(context.Background(), reload) }()
	go func() {
		for received := range signals {
			// An error says that it has ended, which ends this process too.
			_ = process.Signal(received)
			if received == syscall.SIGUSR2 {
				select {
				case reload <- struct{}{}:
				default:
				}
			}
		}
	}()
	ended := make(chan int, 1)
	go func() { ended <- await(process.Pid) }()
	select {
	case err := <-failed:
		return 1, err
	case code := <-ended:
		return code, nil
	}
}

// await the end of a process, and meanwhile that of each process without a parent: the first one
// of a container has to.
func await(pid int) int {
	const killed = 128
	for {
		var status syscall.WaitStatus
		ended, err := syscall.Wait4(-1, &status, 0, nil)
		switch {
		case errors.Is(err, syscall.EINTR):
		case err != nil:
			return 1
		case ended == pid && status.Signaled():
			return killed + int(status.Signal())
		case ended == pid:
			return status.ExitStatus()
		}
	}
}
