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

package permissions

import (
	"os"
	"strings"
	"testing"

	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

// What users read is what is compared with containers.
func TestDocumented(t *testing.T) {
	t.Parallel()
	document := must.Get(os.ReadFile("../../docs/explanation/security.md"))(t)
	if !strings.Contains(string(document), "\n"+Markdown()+"\n") {
		t.Errorf("docs/explanation/security.md lacks this table:\n%s", Markdown())
	}
}
