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

package docker

import (
	"bytes"
	"io"
	"net/http"
	"regexp"
	"strings"
)

// repairGateways lets the client read networks of an older Docker, such as 20.10. It
// reports the gateway of an IPv6 subnet that it chose with a prefix length, and one such
// network of any user makes the client fail to decode a list of all networks.
func repairGateways(response *http.Response) {
	if request := response.Request; request != nil && request.Method == http.MethodGet && strings.Contains(request.URL.Path, "/networks") {
		response.Body = &repairedBody{raw: response.Body}
	}
}

// repairedBody reads the raw body at the first Read: a hook of the client must not.
type repairedBody struct {
	raw      io.ReadCloser
	repaired *bytes.Reader
}

func (b *repairedBody) Read(p []byte) (int, error) {
	if b.repaired == nil {
		content, err := io.ReadAll(b.raw)
		if err != nil {
			return 0, err
		}
		pattern := regexp.MustCompile(`("Gateway":\s*"[^"/]+)/\d+"`)
		b.repaired = bytes.NewReader(pattern.ReplaceAll(content, []byte(`$1"`)))
	}
	return b.repaired.Read(p)
}

func (b *repairedBody) Close() error { return b.raw.Close() }
