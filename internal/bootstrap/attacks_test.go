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

package bootstrap

import (
	"bytes"
	"compress/gzip"
	"encoding/base64"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/reader"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

// attacks are data that is small and expands, in one way each. All of it must be refused, within the limits that
// FuzzParse holds it to.
func attacks(tb testing.TB) map[string][]byte {
	tb.Helper()
	const header = "#cloud-config\n"
	zeros := base64.StdEncoding.EncodeToString(compressed(tb, strings.Repeat("\x00", reader.MaxDecodedBytes/2)))
	return map[string][]byte{
		"a template that doubles a variable": []byte("## template: jinja\n" + header + "{% set a = 'aaaaaaaa' %}\n" +
			strings.Repeat("{% set a = a ~ a %}\n", 24)),
		"merge keys of merge keys": []byte(header + mergeBomb(7, 8)),
		"aliases of a long list":   []byte(header + "a: &a [" + strings.Repeat("x,", 10_000) + "]\nruncmd: [" + strings.Repeat("*a,", 1_000) + "]\n"),
		"aliases of a long text":   []byte(header + "a: &a " + strings.Repeat("x", 1<<16) + "\nwrite_files:\n" + strings.Repeat("- {path: /x, content: *a}\n", 5_000)),
		"aliases of a file":        []byte(header + "write_files: [&a {path: /x}" + strings.Repeat(",*a", 40_000) + "]\n"),
		"many small values":        compressed(tb, header+"runcmd: ["+strings.Repeat("a,", 1<<20)+"a]\n"),
		"a file that expands":      []byte(header + "a: &a " + zeros + "\nwrite_files:\n" + strings.Repeat("- {path: /x, encoding: gz+b64, content: *a}\n", 20)),
		"directives":               []byte(header + directives(10_000) + "--- {}\n"),
		"directives in a document": []byte(header + "write_files:\n- path: /x\n  content: |\n    apiVersion: kubeadm.k8s.io/v1beta4\n    %TAG !a! b\n" +
			strings.ReplaceAll("\n"+directives(10_000), "\n", "\n    ") + "--- {}\n"),
		"a document of many values": []byte(header + "write_files:\n- path: /x\n  encoding: gz+b64\n  content: " +
			base64.StdEncoding.EncodeToString(compressed(tb, "apiVersion: kubeadm.k8s.io/v1beta4\nx: ["+strings.Repeat("a,", 1<<20)+"]\n"))),
		"a stream that expands": compressed(tb, header+"#"+strings.Repeat("\n", 64<<20)),
	}
}

// TestAttacks proves that data which expands beyond a limit is refused with its name, without quoting the data.
func TestAttacks(t *testing.T) {
	t.Parallel()
	for name, attack := range attacks(t) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := Parse(attack, userdata.FormatCloudConfig, userdata.Instance{Hostname: "h"})
			var invalid *reader.InvalidError
			if !errors.As(err, &invalid) {
				t.Fatalf("got error %v, want an *InvalidError", err)
			}
			t.Log(err)
		})
	}
}

// mergeBomb is a chain of mappings, each of which merges the one before it several times.
func mergeBomb(depth, width int) string {
	text := "m0: &m0 {k: v}\n"
	for i := 1; i <= depth; i++ {
		text += fmt.Sprintf("m%d: &m%d {<<: [%s]}\n", i, i, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*m%d,", i-1), width), ","))
	}
	return text + fmt.Sprintf("<<: *m%d\n", depth)
}

// directives are distinct ones: the parser compares each with all before it.
func directives(count int) string {
	var text strings.Builder
	for i := range count {
		fmt.Fprintf(&text, "%%TAG !a%d! b\n", i)
	}
	return text.String()
}

func compressed(tb testing.TB, text string) []byte {
	tb.Helper()
	var out bytes.Buffer
	writer := gzip.NewWriter(&out)
	if _, err := writer.Write([]byte(text)); err != nil {
		tb.Fatal(err)
	}
	if err := writer.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}
