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

package userdata

import (
	"encoding/base64"
	"slices"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/internal/redact"
)

const (
	// minSecretWord is the length from which a line of a file that every user may read counts as a secret, if it looks
	// like one.
	minSecretWord = 16
	// maxEncoded bounds the files that are looked for as base64 too.
	maxEncoded = 16 << 10
)

// Secrets returns the strings of the data that must not appear in a message: lines of files that not every user may read,
// password hashes, values of keys that name a secret. It is meant for package redact and must not be logged itself.
//
// Of scripts, of kubeadm's documents and of files that every user in the node may read, only what looks like a secret is
// among them: a message that hides every line of them hides what failed.
func (c Config) Secrets() []string {
	var secrets []string
	for _, file := range c.Files {
		secrets = append(secrets, file.secrets()...)
	}
	for _, unit := range c.Units {
		for _, file := range unit.Files() {
			secrets = append(secrets, file.secrets()...)
		}
	}
	for _, command := range slices.Concat(c.BootCommands, c.Commands) {
		secrets = append(secrets, redact.Find(command.Script())...)
	}
	for _, user := range c.Users {
		secrets = append(secrets, user.PasswordHash, user.NewPasswordHash, user.NewPassword)
	}
	for _, group := range c.Groups {
		secrets = append(secrets, group.PasswordHash)
	}
	secrets = slices.DeleteFunc(secrets, func(secret string) bool { return secret == "" || secret == NoPassword })
	slices.Sort(secrets)
	return slices.Compact(secrets)
}

func (f File) secrets() []string {
	text := string(f.Content)
	secrets := redact.Find(text)
	if strings.HasPrefix(text, "#!") || holdsKubeadm(f.Content) {
		return secrets
	}
	private := f.Mode != 0 && f.Mode&0o004 == 0
	for line := range strings.SplitSeq(text, "\n") {
		line = strings.TrimSpace(line)
		if private && len(line) >= redact.MinSecret || len(line) >= minSecretWord && looksRandom(line) {
			secrets = append(secrets, line)
		}
	}
	if private && len(text) >= redact.MinSecret && len(text) <= maxEncoded {
		secrets = append(secrets, base64.StdEncoding.EncodeToString(f.Content))
	}
	return secrets
}

// looksRandom reports whether a line is one word of letters and digits.
func looksRandom(line string) bool {
	return !strings.ContainsAny(line, " \t") &&
		strings.ContainsAny(line, "0123456789") &&
		strings.ContainsFunc(line, func(r rune) bool { return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' })
}
