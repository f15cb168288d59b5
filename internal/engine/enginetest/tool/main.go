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

// Tool is everything inside the conformance suite's image: the process that
// containers run, and the commands that the suite runs in them. The image has
// no shell.
package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"golang.org/x/term"
)

func main() {
	if len(os.Args) < 2 {
		fatal("usage: tool COMMAND [ARGUMENT...]")
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		fatal(err.Error())
	}
}

func run(command string, args []string) error {
	commands := map[string]func([]string) error{
		"exit": counting(exit), "terminal": counting(terminal), "cat": cat, "big": counting(big), "print": printText,
		"read": read, "write": write, "stat": stat, "kill": kill,
		"hostname": hostname, "limit": limit, "cpulimit": cpuLimit, "memorylimit": memoryLimit, "execfrom": execFrom, "pid1": pid1, "search": search,
		"eat": counting(eat), "spawn": counting(spawn),
	}
	switch command {
	case "init":
		initialize()
	case "hang":
		time.Sleep(math.MaxInt64)
	case "id":
		fmt.Printf("%d:%d", os.Getuid(), os.Getgid())
	case "env":
		fmt.Print(os.Getenv(args[0]))
	default:
		named, ok := commands[command]
		if !ok {
			return fmt.Errorf("no command %s", command)
		}
		return named(args)
	}
	return nil
}

func fatal(text string) {
	fmt.Fprintln(os.Stderr, text)
	os.Exit(1)
}

// initialize lives until SIGTERM ends it with 0 or SIGUSR1 with 7. SIGHUP it
// survives.
func initialize() {
	signals := make(chan os.Signal, 1)
	signal.Notify(signals, syscall.SIGTERM, syscall.SIGHUP, syscall.SIGUSR1)
	for s := range signals {
		switch s {
		case syscall.SIGTERM:
			os.Exit(0)
		case syscall.SIGUSR1:
			os.Exit(7)
		}
	}
}

// printText prints its first argument to stdout and its second to stderr.
func printText(args []string) error {
	if len(args) > 1 {
		if _, err := os.Stderr.WriteString(args[1]); err != nil {
			return err
		}
	}
	_, err := os.Stdout.WriteString(args[0])
	return err
}

// counting makes a command of one that takes a number.
func counting(command func(number int) error) func([]string) error {
	return func(args []string) error {
		number, err := strconv.Atoi(args[0])
		if err != nil {
			return err
		}
		return command(number)
	}
}

func exit(code int) error {
	os.Exit(code)
	return nil
}

// terminal prints the size of its terminal when that has so many columns, or after a while.
func terminal(columns int) error {
	const attempts, pause = 600, 50 * time.Millisecond // 30 s: a loaded host takes seconds to start a process
	for range attempts - 1 {
		if width, _, err := term.GetSize(int(os.Stdout.Fd())); err != nil || width == columns {
			break
		}
		time.Sleep(pause)
	}
	width, height, err := term.GetSize(int(os.Stdout.Fd()))
	fmt.Printf("%dx%d", width, height)
	return err
}

func cat([]string) error {
	_, err := io.Copy(os.Stdout, os.Stdin)
	return err
}

// big prints that many bytes "o" to stdout and as many "e" to stderr, in turn.
func big(size int) error {
	const chunk = 4096
	for written := 0; written < size; written += chunk {
		length := min(chunk, size-written)
		if _, err := os.Stdout.Write(bytes.Repeat([]byte("o"), length)); err != nil {
			return err
		}
		if _, err := os.Stderr.Write(bytes.Repeat([]byte("e"), length)); err != nil {
			return err
		}
	}
	return nil
}

func read(args []string) error {
	content, err := os.ReadFile(args[0])
	if err != nil {
		return err
	}
	_, err = os.Stdout.Write(content)
	return err
}

func write(args []string) error { return os.WriteFile(args[0], []byte(args[1]), 0o644) }

// stat prints permissions in octal, owner, group and, of a link, its target.
func stat(args []string) error {
	info, err := os.Lstat(args[0])
	if err != nil {
		return err
	}
	owner, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return fmt.Errorf("no owner of %s", args[0])
	}
	if info.Mode()&os.ModeSymlink != 0 {
		target, err := os.Readlink(args[0])
		if err != nil {
			return err
		}
		fmt.Printf("link %d:%d %s", owner.Uid, owner.Gid, target)
		return nil
	}
	kind := "file"
	if info.IsDir() {
		kind = "directory"
	}
	fmt.Printf("%s %d:%d %04o", kind, owner.Uid, owner.Gid, info.Mode().Perm())
	return nil
}

func kill(args []string) error {
	signals := map[string]syscall.Signal{"HUP": syscall.SIGHUP, "TERM": syscall.SIGTERM, "USR1": syscall.SIGUSR1}
	pid, err := strconv.Atoi(args[1])
	if err != nil {
		return err
	}
	return syscall.Kill(pid, signals[args[0]])
}

func hostname([]string) error {
	name, err := os.Hostname()
	fmt.Print(name)
	return err
}

// limit prints the soft and hard limit of open files. It asks the kernel about
// process 1, because Go raises the soft one of its own process.
func limit([]string) error {
	value, err := field("/proc/1/limits", "Max open files")
	if err != nil {
		return err
	}
	fmt.Print(strings.Join(strings.Fields(value)[:2], " "))
	return nil
}

// cpuLimit prints the container's limit of processor time in thousandths of a CPU.
func cpuLimit([]string) error {
	var text []byte
	// Cgroup v2 has quota and period in one file.
	for _, files := range [][]string{{"cpu.max"}, {"cpu/cpu.cfs_quota_us", "cpu/cpu.cfs_period_us"}} {
		text = nil
		for _, file := range files {
			content, err := os.ReadFile("/sys/fs/cgroup/" + file)
			if err != nil {
				break
			}
			text = append(text, content...)
		}
		if len(text) > 0 {
			break
		}
	}
	var quota, period int
	if _, err := fmt.Sscan(string(text), &quota, &period); err != nil {
		return fmt.Errorf("read limit %q: %w", text, err)
	}
	fmt.Print(quota * 1000 / period)
	return nil
}

// memoryLimit prints how many bytes this container may use.
func memoryLimit([]string) error {
	content, err := os.ReadFile("/sys/fs/cgroup/memory.max")
	if errors.Is(err, os.ErrNotExist) {
		content, err = os.ReadFile("/sys/fs/cgroup/memory/memory.limit_in_bytes")
	}
	if err != nil {
		return fmt.Errorf("read limit: %w", err)
	}
	fmt.Print(strings.TrimSpace(string(content)))
	return nil
}

// pid1 prints a field of the status of process 1.
func pid1(args []string) error {
	value, err := field("/proc/1/status", args[0]+":")
	fmt.Print(value)
	return err
}

// search prints the search domains of the resolver.
func search([]string) error {
	value, err := field("/etc/resolv.conf", "search ")
	fmt.Print(value)
	return err
}

// field returns what follows a name at the beginning of a line.
func field(file, name string) (string, error) {
	content, err := os.ReadFile(file)
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(content)) {
		if rest, ok := strings.CutPrefix(line, name); ok {
			return strings.TrimSpace(rest), nil
		}
	}
	return "", fmt.Errorf("no %q in %s", name, file)
}

// execFrom copies this program into a directory and runs it from there.
func execFrom(args []string) error {
	program, err := os.ReadFile("/tool")
	if err != nil {
		return err
	}
	copied := args[0] + "/tool"
	if err := os.WriteFile(copied, program, 0o755); err != nil {
		return err
	}
	output, err := exec.Command(copied, "print", "ran").CombinedOutput()
	fmt.Print(string(output))
	return err
}

// eat writes to that many bytes of memory and keeps them.
func eat(size int) error {
	var eaten [][]byte
	const piece = 1 << 20
	for range size / piece {
		eaten = append(eaten, bytes.Repeat([]byte("x"), piece))
	}
	return fmt.Errorf("%d pieces of memory did not end this process", len(eaten))
}

// spawn runs that many processes concurrently and prints how many there were.
func spawn(count int) (err error) {
	running := make([]*exec.Cmd, 0, count)
	defer func() {
		for _, one := range running {
			if killed := one.Process.Kill(); killed != nil {
				err = errors.Join(err, killed)
				continue
			}
			_ = one.Wait()
		}
	}()
	for range count {
		one := exec.Command("/tool", "hang")
		if err := one.Start(); err != nil {
			return err
		}
		running = append(running, one)
	}
	fmt.Print(len(running))
	return nil
}
