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

package record

import (
	"archive/tar"
	"bytes"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

type recordFile struct {
	name, content string
}

func recordTar(t *testing.T, files ...recordFile) []byte {
	t.Helper()
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeDir, Name: "record/", Mode: 0o700})
	for _, file := range files {
		err = errors.Join(err, w.WriteHeader(&tar.Header{
			Typeflag: tar.TypeReg, Name: "record/" + file.name, Mode: 0o600, Size: int64(len(file.content)), ModTime: time.Unix(1000, 0),
		}))
		_, writeErr := w.Write([]byte(file.content))
		err = errors.Join(err, writeErr)
	}
	must.Succeed(t, errors.Join(err, w.Close()))
	return buffer.Bytes()
}

func TestRead(t *testing.T) {
	t.Parallel()
	at := time.Unix(1000, 0)
	cases := map[string]struct {
		reason string
		files  []recordFile
		want   Result
		err    error
	}{
		"empty": {reason: "a directory alone is no start", want: Result{ExitCode: -1}},
		"started": {
			reason: "a step is on its way",
			files:  []recordFile{{"state", "started\n"}, {"state.step", "write_files[12]\n"}},
			want:   Result{State: Started, Step: "write_files[12]", ExitCode: -1, Changed: at},
		},
		"up": {
			reason: "the sentinel without the end",
			files:  []recordFile{{"state", "started\n"}, {"state.kubernetes-up", "true\n"}, {"state.step", "runcmd[1]\n"}},
			want:   Result{State: Started, Step: "runcmd[1]", ExitCode: -1, KubernetesUp: true, Changed: at},
		},
		"failed": {
			reason: "all of it",
			files: []recordFile{
				{"state", "failed\n"}, {"state.exit-code", "7\n"}, {"state.log-tail", "a\nb\xff\n"}, {"state.step", "runcmd[1]\n"},
			},
			want: Result{State: Failed, Step: "runcmd[1]", ExitCode: 7, LogTail: "a\nb\ufffd", Changed: at},
		},
		"other files": {
			reason: "a file being written and unknown ones do not count",
			files:  []recordFile{{".next", "done\n"}, {"state", "started\n"}, {"state.future", "x"}},
			want:   Result{State: Started, ExitCode: -1, Changed: at},
		},
		"not yet": {reason: "a temporary file is no state", files: []recordFile{{".next", "done\n"}}, want: Result{ExitCode: -1}},
		"torn":    {reason: "an emptied state had started", files: []recordFile{{"state", ""}}, want: Result{State: Started, ExitCode: -1, Changed: at}},
		"half a state": {
			reason: "half of done is not done", files: []recordFile{{"state", "don"}}, want: Result{ExitCode: -1}, err: ErrRecord,
		},
		"strange step": {
			reason: "what root in the node wrote does not get into a message",
			files:  []recordFile{{"state", "failed"}, {"state.step", "rm -rf /"}}, want: Result{ExitCode: -1}, err: ErrRecord,
		},
		"strange code": {
			reason: "exit codes are 0 to 255",
			files:  []recordFile{{"state", "failed"}, {"state.exit-code", "1000"}}, want: Result{ExitCode: -1}, err: ErrRecord,
		},
		"too many": {
			reason: "reading ends", files: slices.Repeat([]recordFile{{"x", ""}}, maxRecordEntries+1), want: Result{ExitCode: -1}, err: ErrRecord,
		},
		"long log": {
			reason: "reading is bounded", files: []recordFile{{"state", "failed"}, {"state.log-tail", strings.Repeat("x", 2*maxRecordFileBytes)}},
			want: Result{State: Failed, ExitCode: -1, LogTail: strings.Repeat("x", maxRecordFileBytes), Changed: at},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := Read(bytes.NewReader(recordTar(t, tc.files...)))
			if !errors.Is(err, tc.err) {
				t.Fatalf("%s: error %v, want %v", tc.reason, err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
}

func TestReadCutOff(t *testing.T) {
	t.Parallel()
	whole := recordTar(t, recordFile{"state", "done\n"}, recordFile{"state.step", "runcmd[1]\n"})
	const stateContent = 3 * 512
	for length := range whole {
		got, err := Read(bytes.NewReader(whole[:length]))
		if length < stateContent-512+len("done\n") && got.State == Done {
			t.Fatalf("%d bytes are not enough to know that it is done", length)
		}
		if err != nil && got.State != NotStarted {
			t.Fatalf("an error comes without a result, got %+v", got)
		}
	}
	if got, err := Read(nil); err != nil || got.State != NotStarted {
		t.Errorf("no reader: %+v %v", got, err)
	}
	if got, err := Read(strings.NewReader("")); err != nil || got.State != NotStarted {
		t.Errorf("no bytes: %+v %v", got, err)
	}
	broken := errors.New("connection lost")
	if _, err := Read(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("a download that fails is an error, got %v", err)
	}
	if _, err := Read(io.MultiReader(bytes.NewReader(whole), iotest.ErrReader(broken))); err != nil {
		t.Errorf("what comes after the end does not matter, got %v", err)
	}
}

func TestMessage(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		reason  string
		result  Result
		secrets []string
		want    string
	}{
		"not started": {reason: "nothing yet", want: "Bootstrap has not started"},
		"started":     {reason: "the step", result: Result{State: Started, Step: "runcmd[2]"}, want: "Bootstrap is running, at step runcmd[2]"},
		"first":       {reason: "before the first step", result: Result{State: Started}, want: "Bootstrap is running, at step start"},
		"up": {
			reason: "the sentinel", result: Result{State: Started, Step: "runcmd[2]", KubernetesUp: true},
			want: "Bootstrap is running, at step runcmd[2]; Kubernetes is up",
		},
		"done": {reason: "the end", result: Result{State: Done, Step: "runcmd[2]"}, want: "Bootstrap completed"},
		"failed": {
			reason:  "step, code, last lines, no secret and no escape sequence",
			result:  Result{State: Failed, Step: "runcmd[2]", ExitCode: 1, LogTail: "bootstrap: runcmd[1]\nnot mine\nbootstrap: runcmd[2]\n  one\t1\x1b[0;31m\x07\n\nhun\x1b[0mter22 and abcdef.0123456789abcdef\n"},
			secrets: []string{"hunter22"},
			want:    "Bootstrap failed at step runcmd[2] with exit code 1; last lines of the log: one 1\n[redacted] and [redacted]",
		},
		"silent": {
			reason: "a step that printed nothing", result: Result{State: Failed, Step: "runcmd[2]", ExitCode: 2, LogTail: "x\nbootstrap: runcmd[2]"},
			want: "Bootstrap failed at step runcmd[2] with exit code 2",
		},
		"unknown code": {
			reason: "a record without a code", result: Result{State: Failed, ExitCode: -1}, want: "Bootstrap failed at step start with unknown exit code",
		},
		"interrupted": {
			reason: "where it was", result: Result{State: Interrupted, Step: "runcmd[2]", LogTail: "x"},
			want: "Bootstrap was interrupted at step runcmd[2]; last lines of the log: x",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, tc.result.Message(tc.secrets...)); diff != "" {
				t.Errorf("%s (-want +got):\n%s", tc.reason, diff)
			}
		})
	}
	long := Result{State: Failed, Step: "runcmd[2]", ExitCode: 1, LogTail: strings.Repeat("ü漢 ", 4000) + "\nthe end"}
	message := long.Message()
	if len(message) > maxMessageBytes || !strings.HasSuffix(message, "the end") || strings.ToValidUTF8(message, "") != message {
		t.Errorf("a message is at most %d bytes of UTF-8 and keeps the end, got %d: %q", maxMessageBytes, len(message), message)
	}
	many := Result{State: Failed, LogTail: strings.Repeat("line\n", 100)}
	if got := strings.Count(many.Message(), "line"); got > messageLines+1 {
		t.Errorf("a message has %d lines, want at most %d", got, messageLines)
	}
}

// TestReadEnds proves that a file without an end, such as a sparse one of a terabyte, is not read to its end.
func TestReadEnds(t *testing.T) {
	t.Parallel()
	var head bytes.Buffer
	must.Succeed(t, tar.NewWriter(&head).WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "record/.sparse", Size: 1 << 40}))
	endless := &zeros{}
	_, err := Read(io.MultiReader(&head, endless))
	if err == nil || endless.read > maxRecordBytes {
		t.Errorf("error %v after %d bytes", err, endless.read)
	}
}

// zeros has more of them than anything may read.
type zeros struct{ read int }

func (z *zeros) Read(p []byte) (int, error) {
	if z.read > 64*maxRecordBytes {
		return 0, errors.New("it is read to its end")
	}
	clear(p)
	z.read += len(p)
	return len(p), nil
}

func FuzzRead(f *testing.F) {
	f.Add([]byte("not a tar"))
	f.Add(make([]byte, 1024))
	f.Fuzz(func(t *testing.T, data []byte) {
		var result Result
		var err error
		must.StayWithin(t, len(data), must.Limit{Base: 4 << 20, PerByte: 256, Most: 16 << 20}, func() {
			result, err = Read(bytes.NewReader(data))
		})
		if err != nil && result.State != NotStarted {
			t.Errorf("an error comes without a result: %+v", result)
		}
		if message := result.Message(); len(message) > maxMessageBytes {
			t.Errorf("a message of %d bytes", len(message))
		}
	})
}
