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

package repository

import (
	"regexp"
	"slices"
	"strings"
	"testing"
)

// avoided are words and phrases that readers of this field do not search for, and what
// to write instead. Words are alternatives of a regular expression, matched as a whole
// and without regard to case; a word of an identifier is a word.
var avoided = []struct{ words, instead string }{
	{`tell|tells|told|telling`, "report, notify, configure, return, distinguish"},
	{`nobody|somebody|anybody|everybody`, "a user, another process, no client: name who it is"},
	{`whoever|whomever|whom`, "the user who, the process that"},
	{`anew|(made|make|makes|making) again`, "again, or a verb with re-: recreate, reissue, reopen"},
	{`mend|mends|mended|mending`, "repair, fix, remediate"},
	{`for want of`, "without, because there is no"},
	{`(let|lets|letting) go`, "release, drain, remove the finalizer"},
	{`(go|goes|going|went|gone) on`, "continue"},
	{`(take|takes|taken|took) back|undone`, "revert, roll back, revoke"},
	{`(take|takes|taken|took|taking) away`, "remove"},
	{`(throw|throws|thrown|threw) away`, "discard"},
	{`begun`, "started"},
	{`remember|remembers|remembered`, "save, record, cache, keep"},
	{`people`, "users"},
	{`deed|deeds`, "action, mutation"},
	{`shall`, "must, should, will; the desired state"},
	{`at once`, "immediately; concurrently, at the same time; together"},
	{`beside`, "in addition to, next to, alongside, other than"},
	{`for ever`, "forever, indefinitely, without a limit"},
	{`in vain|for nothing`, "without success, unnecessarily"},
	{`(look|looks|looked|looking) again|(each|every|next|first|last|one|two|a|the) looks?`, "reconcile, requeue, poll, check"},
	{`as yet|ere|lest|hence|henceforth|hitherto|thence|whence|whilst|amongst|albeit|bygone|nought|aught|unto`, "until, so, from, while, although, old"},
	{`thereof|therein|thereby|thereupon|wherein|whereof|whereupon|herein|hereby|heretofore`, "of it, in it, after that"},
	{`(behavi|col|fav|flav|hon|neighb)our(s|ed|ite|ing|able)?`, "the American spelling: or"},
	{`(cancel|label|signal|model|travel)l(ed|ing)`, "the American spelling: one l"},
	{`(initial|organ|recogn|serial|normal|synchron|minim|optim|author)is(e|es|ed|ing)`, "the American spelling: ize"},
	{`licence|defence|artefacts?`, "the American spelling: license, defense, artifact"},
}

// notOurs are the files whose text is quoted or written by others.
var notOurs = regexp.MustCompile(`^(CODE_OF_CONDUCT\.md|internal/plane/manifests/.*\.yaml|test/repository/language_test\.go)$`)

func TestTextsAvoidWords(t *testing.T) {
	if testing.Short() {
		t.Skip("make lint runs it, without the race detector")
	}
	t.Parallel()
	groups := make([]string, len(avoided))
	for i, entry := range avoided {
		// A phrase may continue on the next line of a comment.
		groups[i] = "(" + strings.NewReplacer("(", "(?:", " ", `[\s/#*]+`).Replace(entry.words) + ")"
	}
	expression := regexp.MustCompile(`(?i)\b(?:` + strings.Join(groups, "|") + `)\b`)
	identifier := regexp.MustCompile(`([a-z0-9])([A-Z])`)
	for _, path := range slices.Concat(files(t, ".go"), files(t, ".md"), files(t, ".sh"), files(t, ".yaml"), files(t, ".mk"), files(t, ".tmpl"), files(t, ".html"), []string{"Makefile"}) {
		if notOurs.MatchString(path) {
			continue
		}
		text := identifier.ReplaceAllString(readFile(t, path), "$1 $2")
		for _, at := range expression.FindAllStringSubmatchIndex(text, -1) {
			group := slices.IndexFunc(at[2:], func(position int) bool { return position >= 0 }) / 2
			t.Errorf("%s:%d: instead of %q write: %s", path, strings.Count(text[:at[0]], "\n")+1, text[at[0]:at[1]], avoided[group].instead)
		}
	}
}
