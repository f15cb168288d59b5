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
	"encoding/base64"
	"maps"
	"slices"
	"strings"
)

const (
	// minSecret is the length from which a string of the data is taken out of a log wherever it occurs: shorter ones
	// are words such as "true", and a log without those words says nothing.
	minSecret = 8
	// minSecretWord is the length from which a line of a file that every user may read counts as a secret, if it looks
	// like one.
	minSecretWord = 16
	// maxEncoded bounds the files that are looked for as base64 too.
	maxEncoded = 16 << 10
)

// Secrets returns the strings of the data that must not appear in a message: lines of files that not every user may read,
// password hashes, values of keys that name a secret. It is meant for [Redact] and [Result.Message] and must not be
// logged itself.
//
// Of scripts, of kubeadm's documents and of files that every user in the node may read, only what looks like a secret is
// among them: a message that hides every line of them hides what failed.
func (c Config) Secrets() []string {
	found := make(map[string]bool)
	for _, file := range c.Files {
		file.secrets(found)
	}
	for _, unit := range c.Units {
		for _, file := range unit.files() {
			file.secrets(found)
		}
	}
	for _, command := range slices.Concat(c.BootCommands, c.Commands) {
		namedSecrets(command.shell(), found)
	}
	var passwords []string
	for _, user := range c.Users {
		passwords = append(passwords, user.PasswordHash, user.NewPasswordHash, user.NewPassword)
	}
	for _, group := range c.Groups {
		passwords = append(passwords, group.PasswordHash)
	}
	for _, password := range passwords {
		if password != "" && password != noPassword {
			found[password] = true
		}
	}
	return slices.Sorted(maps.Keys(found))
}

func (f File) secrets(found map[string]bool) {
	text := string(f.Content)
	namedSecrets(text, found)
	if strings.HasPrefix(text, "#!") || holdsKubeadm(f.Content) {
		return
	}
	private := f.Mode != 0 && f.Mode&0o004 == 0
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if private && len(line) >= minSecret || len(line) >= minSecretWord && looksRandom(line) {
			found[line] = true
		}
	}
	if private && len(text) >= minSecret && len(text) <= maxEncoded {
		found[base64.StdEncoding.EncodeToString(f.Content)] = true
	}
}

// looksRandom says that a line is one word of letters and digits.
func looksRandom(line string) bool {
	return !strings.ContainsAny(line, " \t") &&
		strings.ContainsAny(line, "0123456789") &&
		strings.ContainsFunc(line, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' })
}

// namedSecrets adds what follows a name that says secret, without quotes, and what has the form of kubeadm's secrets.
func namedSecrets(text string, found map[string]bool) {
	for _, match := range slices.Concat(named.FindAllStringSubmatch(text, -1), flagged.FindAllStringSubmatch(text, -1)) {
		if value := strings.Trim(match[len(match)-1], `"'`); len(value) >= minSecret {
			found[value] = true
		}
	}
	for _, secret := range slices.Concat(certificateKey.FindAllString(text, -1), bootstrapToken.FindAllString(text, -1)) {
		found[secret] = true
	}
}
