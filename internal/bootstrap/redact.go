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

// Redact removes from a log what looks like a secret (bootstrap tokens, certificate keys, PEM blocks, values of
// passwords and tokens, long base64) and every occurrence of the given secrets. See [Config.Secrets].
func Redact(log string, secrets ...string) string {
	return ""
}

// Secrets returns the strings of the data that must not appear in a message: lines of files, password hashes, values
// of keys that name a secret. It is meant for [Redact] and [Result.Message] and must not be logged itself.
func (c Config) Secrets() []string {
	return nil
}
