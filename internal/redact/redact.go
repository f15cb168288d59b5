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

// Package redact removes secrets from logs and messages.
package redact

import (
	"cmp"
	"index/suffixarray"
	"regexp"
	"slices"
	"strings"
)

const (
	redacted = "[redacted]"

	secretNames = `(?:password|passwd|passphrase|secret|token|api[_-]?key|private[_-]?key|certificate[_-]?key|` +
		`credentials?|authorization)`
	secretValue = `("[^"\n]*"|'[^'\n]*'|[^\s,;]+)`
)

var (
	privateBlock = regexp.MustCompile(`(?s)-----BEGIN [A-Z0-9 ]+-----.*?(-----END [A-Z0-9 ]+-----|\z)`)
	// privateBlockEnd is the rest of a block whose beginning was cut off.
	privateBlockEnd = regexp.MustCompile(`(?:[ \t]*[A-Za-z0-9+/=]+[ \t]*\r?\n)*[ \t]*-----END [A-Z0-9 ]+-----`)
	// bootstrapToken is the token of kubeadm, "id.secret".
	bootstrapToken = regexp.MustCompile(`\b[a-z0-9]{6}\.[a-z0-9]{16}\b`)
	// certificateKey is kubeadm's key for uploaded certificates. A digest has the same form and is no secret.
	certificateKey = regexp.MustCompile(`(sha256:)?\b[0-9a-fA-F]{64}\b`)
	// userInfo is the password in a URL.
	userInfo = regexp.MustCompile(`(://)[^/\s:@]*:[^/\s@]+@`)
	// named is a value that follows a name that says secret: password=…, "client-secret": ….
	named = regexp.MustCompile(`(?i)(` + secretNames + `["']?[ \t]*[:=][ \t]*(?:(?:bearer|basic)[ \t]+)?)` + secretValue)
	// flagged is the value of a flag whose name says secret: --token ….
	flagged = regexp.MustCompile(`(?i)(--[a-z0-9-]*` + secretNames + `[ \t]+)` + secretValue)
	// bearer is a token of HTTP.
	bearer = regexp.MustCompile(`(?i)\b(bearer|basic)\s+[A-Za-z0-9._~+/=-]{8,}`)
	// jsonWebToken is what service accounts have.
	jsonWebToken = regexp.MustCompile(`\beyJ[A-Za-z0-9_-]+\.[A-Za-z0-9_-]+(\.[A-Za-z0-9_-]*)?`)
	// encoded may be base64. Long paths match too: see looksEncoded.
	encoded = regexp.MustCompile(`[A-Za-z0-9+/_-]{40,}={0,2}`)
	// cryptHash is a hashed password as in /etc/shadow.
	cryptHash = regexp.MustCompile(`\$(1|2[abxy]?|5|6|7|y|gy|sha1)\$[A-Za-z0-9./$=,]{8,}`)
)

// Text removes from a log what looks like a secret (bootstrap tokens, certificate keys, PEM blocks, values of
// passwords and tokens, long base64) and every occurrence of the known secrets.
func Text(log string, secrets ...string) string {
	log = removeKnown(log, secrets)
	log = privateBlock.ReplaceAllString(log, redacted)
	log = privateBlockEnd.ReplaceAllString(log, redacted)
	log = certificateKey.ReplaceAllStringFunc(log, func(match string) string {
		if strings.HasPrefix(match, "sha256:") {
			return match
		}
		return redacted
	})
	log = jsonWebToken.ReplaceAllString(log, redacted)
	log = cryptHash.ReplaceAllString(log, redacted)
	log = userInfo.ReplaceAllString(log, "${1}"+redacted+"@")
	log = named.ReplaceAllString(log, "${1}"+redacted)
	log = flagged.ReplaceAllString(log, "${1}"+redacted)
	log = bearer.ReplaceAllString(log, "${1} "+redacted)
	log = bootstrapToken.ReplaceAllString(log, redacted)
	return encoded.ReplaceAllStringFunc(log, func(match string) string {
		if looksEncoded(match) {
			return redacted
		}
		return match
	})
}

// looksEncoded distinguishes base64 from long words and paths: of 40 random characters nearly all have all three kinds.
func looksEncoded(s string) bool {
	return strings.ContainsFunc(s, func(r rune) bool { return r >= 'a' && r <= 'z' }) &&
		strings.ContainsFunc(s, func(r rune) bool { return r >= 'A' && r <= 'Z' }) &&
		strings.ContainsFunc(s, func(r rune) bool { return r >= '0' && r <= '9' })
}

// removeKnown removes the known secrets, longest first, so that none is found in what is left of another. There may be
// hundreds of thousands, few of which are in the log: the index finds those.
func removeKnown(log string, secrets []string) string {
	secrets = slices.Clone(secrets)
	slices.SortFunc(secrets, func(a, b string) int {
		return cmp.Or(cmp.Compare(len(b), len(a)), strings.Compare(a, b))
	})
	index := suffixarray.New([]byte(log))
	for _, secret := range slices.Compact(secrets) {
		if strings.TrimSpace(secret) != "" && index.Lookup([]byte(secret), 1) != nil {
			log = strings.ReplaceAll(log, secret, redacted)
		}
	}
	return log
}

// MinSecret is the length from which a value that follows a name counts as a secret: shorter ones are words such as
// "true", and a log without those words says nothing.
const MinSecret = 8

// Find returns the secrets in a text that [Text] would not remove everywhere: the values of names that say secret, without
// quotes, and what has the form of kubeadm's secrets.
func Find(text string) []string {
	var secrets []string
	for _, match := range slices.Concat(named.FindAllStringSubmatch(text, -1), flagged.FindAllStringSubmatch(text, -1)) {
		if value := strings.Trim(match[len(match)-1], `"'`); len(value) >= MinSecret {
			secrets = append(secrets, value)
		}
	}
	return slices.Concat(secrets, certificateKey.FindAllString(text, -1), bootstrapToken.FindAllString(text, -1))
}
