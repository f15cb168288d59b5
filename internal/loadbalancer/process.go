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

package loadbalancer

import (
	"archive/tar"
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/haproxy"
)

// All requests to the process go through bash in its container: the
// status listener is on the loopback of the container alone, and bash can
// connect to it and has kill, which slim images have neither tools for.

// executeLimit bounds each of these commands: they take a tenth of a second, on
// a host with a load average of 60 more than five, and never end in a container
// that was paused meanwhile.
const executeLimit = 15 * time.Second

func execute(ctx context.Context, containers engine.Executor, name string, command engine.Command) (engine.Output, error) {
	limited, cancel := context.WithTimeoutCause(ctx, executeLimit, errTimeout)
	defer cancel()
	output, err := containers.Exec(limited, name, command)
	if err != nil && ctx.Err() == nil && limited.Err() != nil {
		return output, fmt.Errorf("%w: %w", context.Cause(limited), err)
	}
	return output, err
}

// status is what the process reports. Both parts come over one
// connection and so from one process, also while it is being replaced.
type status struct {
	generation string
	servers    []haproxy.Server
	// stored is the configuration in its file, also where the process does not respond.
	stored string
	// odd is why the rest is empty where the response is not that of
	// our configuration: the process has loaded a configuration that is not ours.
	odd error
}

// getStatus reads generation, statistics and file back. A process that does not listen
// (yet) has a status of the file alone. Container absent: ErrNotFound; not running:
// ErrConflict.
func (s State) getStatus(ctx context.Context, containers engine.Executor) (status, error) {
	command, relay := statusCommand(), hasRelay(s.container)
	if relay {
		command = fmt.Sprintf(relayCommand, haproxy.StatusPort) + command
	}
	output, err := execute(ctx, containers, s.Name, engine.Command{Args: []string{"bash", "-c", command}})
	var exit *engine.ExitError
	switch {
	case errors.As(err, &exit) && (exit.Code == exitCannotRun || exit.Code == exitNotFound):
		return status{}, errNoShell
	case errors.As(err, &exit):
		return status{stored: string(output.Stderr)}, nil
	case err != nil:
		return status{}, err
	}
	current := status{stored: string(output.Stderr)}
	reader := bufio.NewReader(bytes.NewReader(output.Stdout))
	var relayed string
	if relay {
		// Without an answer the line is empty.
		line, _ := reader.ReadString('\n')
		relayed = strings.TrimSpace(line)
	}
	generation, generationErr := body(reader)
	statistics, statisticsErr := body(reader)
	err = errors.Join(generationErr, statisticsErr)
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		// It ended while it responded.
		return current, nil
	}
	if err != nil {
		current.odd = fmt.Errorf("read response: %w", err)
		return current, nil
	}
	servers, err := haproxy.ParseStatistics(statistics)
	if err != nil {
		current.odd = fmt.Errorf("parse statistics: %w", err)
		return current, nil
	}
	current.generation, current.servers = strings.TrimSpace(string(generation)), servers
	if relay && relayed != current.generation {
		current.generation = ""
		current.odd = fmt.Errorf("%w: the relay uses configuration %q", errResponse, relayed)
	}
	return current, nil
}

// maxStoredBytes is more than a configuration of ours has; of a larger file only this much
// is read, which is enough to see that it is another one.
// +limit
const maxStoredBytes = 15 << 20

// statusCommand prints the file to its standard error, sends two requests in one go and
// prints the two responses.
func statusCommand() string {
	requests := `GET ` + haproxy.GenerationPath + ` HTTP/1.1\r\nHost: localhost\r\n\r\n` +
		`GET ` + haproxy.StatisticsPath + ` HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`
	return fmt.Sprintf(
		`head -c %d %s >&2 2>/dev/null; { exec 3<>/dev/tcp/127.0.0.1/%d; } 2>/dev/null && printf '%s' >&3 && cat <&3`,
		maxStoredBytes, haproxy.ConfigPath, haproxy.StatusPort, requests,
	)
}

// relayCommand prints the line with which the relay answers. One that does not listen refuses the datagram. bash
// itself reads a byte at a time, and loses the rest of a datagram.
const relayCommand = `generation=; { exec 4<>/dev/udp/127.0.0.1/%d && echo >&4 && generation=$(timeout 2 dd bs=64 count=1 <&4); } 2>/dev/null; echo "$generation"; `

func body(reader *bufio.Reader) ([]byte, error) {
	response, err := http.ReadResponse(reader, nil)
	if err != nil {
		return nil, fmt.Errorf("read response: %w", err)
	}
	content, err := io.ReadAll(response.Body)
	if err = errors.Join(err, response.Body.Close()); err != nil {
		return nil, fmt.Errorf("read body: %w", err)
	}
	if response.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %s: %w", response.Status, errResponse)
	}
	return content, nil
}

// Exit codes of a shell or an engine for what it cannot run.
const (
	exitCannotRun = 126
	exitNotFound  = 127
)

// errNoShell says what an image lacks.
var errNoShell = errors.New("image has no bash; use a haproxy image based on Debian")

// errTimeout says that a command did not end; see executeLimit.
var errTimeout = fmt.Errorf("command in container did not complete within %s", executeLimit)

// errResponse says that a response is not the requested one.
var errResponse = errors.New("unexpected response")

// check lets the container's own haproxy judge a text, without storing it
// anywhere. The text goes through a pipe of bash's: the standard input of an
// exec may belong to another user and cannot then be opened by its path.
func check(ctx context.Context, containers engine.Executor, name, text string) error {
	output, err := execute(ctx, containers, name, engine.Command{
		Args:  []string{"bash", "-c", "haproxy -c -f <(cat)"},
		Stdin: strings.NewReader(text),
	})
	var exit *engine.ExitError
	if errors.As(err, &exit) {
		return &RejectedError{Message: alerts(output)}
	}
	if err != nil {
		return fmt.Errorf("check configuration: %w", err)
	}
	return nil
}

// maxAlertBytes is the limit of what is repeated of haproxy's reason to refuse a configuration.
// +limit
const maxAlertBytes = 1 << 10

// alerts are the lines in which haproxy says why; all of them where none is
// marked.
func alerts(output engine.Output) string {
	var marked, all []string
	for line := range strings.Lines(string(output.Stderr) + string(output.Stdout)) {
		line = strings.TrimSpace(line)
		all = append(all, line)
		if _, text, found := strings.Cut(line, "[ALERT]"); found {
			_, text, _ = strings.Cut(text, ":")
			marked = append(marked, strings.TrimSpace(text))
		}
	}
	if len(marked) == 0 {
		marked = all
	}
	message := strings.Join(marked, "; ")
	return strings.ToValidUTF8(message[:min(len(message), maxAlertBytes)], "")
}

// reload makes the master process load its file. It handles the signal by
// starting a process with the new configuration, to which the listening
// sockets are handed, and lets the old one end its connections. The signal
// comes from inside: one that goes through the engine's API makes the engine
// take the container as stopped by its user.
func reload(ctx context.Context, containers engine.Executor, name string) error {
	_, err := execute(ctx, containers, name, engine.Command{Args: []string{"bash", "-c", "kill -USR2 1"}})
	if err != nil {
		return fmt.Errorf("reload haproxy: %w", err)
	}
	return nil
}

// upload stores a text as the container's configuration.
func upload(ctx context.Context, containers engine.Archiver, name, text string) error {
	packed, err := archive(text)
	if err != nil {
		return fmt.Errorf("pack configuration: %w", err)
	}
	if err := containers.Upload(ctx, name, bytes.NewReader(packed)); err != nil {
		return fmt.Errorf("upload configuration: %w", err)
	}
	return nil
}

func archive(text string) ([]byte, error) {
	var packed bytes.Buffer
	writer := tar.NewWriter(&packed)
	err := writer.WriteHeader(&tar.Header{
		Name: strings.TrimPrefix(haproxy.ConfigPath, "/"),
		// The process is not its owner, and must read it.
		Mode: 0o644,
		Size: int64(len(text)),
		// Equal texts give equal archives.
		ModTime: time.Unix(0, 0),
	})
	if err == nil {
		_, err = writer.Write([]byte(text))
	}
	if err = errors.Join(err, writer.Close()); err != nil {
		return nil, fmt.Errorf("write archive: %w", err)
	}
	return packed.Bytes(), nil
}
