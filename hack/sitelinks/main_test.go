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

package main

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestCheck(t *testing.T) {
	t.Parallel()
	tests := map[string]struct{ body, want string }{
		"a page":                      {body: `<a href="/base/other/">`},
		"a relative page":             {body: `<a href="other/#there">`},
		"its own fragment":            {body: `<p id="here"><a href="#here">`},
		"another site":                {body: `<a href="https://example.com/">`},
		"an absolute URL of its own":  {body: `<link rel="canonical" href="https://docs.example/base/other/">`},
		"no page":                     {body: `<a href="/base/missing/">`, want: "index.html links to /base/missing/"},
		"no fragment":                 {body: `<a href="other/#missing">`, want: "index.html links to other/#missing"},
		"no picture":                  {body: `<img src="missing.svg">`, want: "index.html links to missing.svg"},
		"another version":             {body: `<a href="https://docs.example/other/">`},
		"a page above the base":       {body: `<a href="/other/">`, want: "index.html links to /other/"},
		"a script of another site":    {body: `<script src="https://example.com/x.js"></script>`, want: "index.html loads https://example.com/x.js"},
		"a stylesheet without scheme": {body: `<link rel="stylesheet" href="//example.com/x.css">`, want: "index.html loads //example.com/x.css"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			site := fstest.MapFS{
				"index.html":       {Data: []byte(test.body)},
				"other/index.html": {Data: []byte(`<p id="there">`)},
			}
			_, err := check(site, "https://docs.example/base")
			if test.want == "" && err != nil || test.want != "" && (err == nil || !strings.Contains(err.Error(), test.want)) {
				t.Errorf("Want %q, got: %v", test.want, err)
			}
		})
	}
}

func TestCheckRefusesADirectoryWithoutPages(t *testing.T) {
	t.Parallel()
	if _, err := check(fstest.MapFS{}, "https://docs.example/"); err == nil {
		t.Error("A site without pages is not in order")
	}
}
