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
	"errors"
	"path"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// command reads an entry of bootcmd or runcmd. An empty one does nothing.
func (p *parser) command(item *yaml.Node, name string) (Command, error) {
	switch {
	case isNull(item):
		return Command{}, nil
	case item.Kind == yaml.ScalarNode:
		if tag := item.ShortTag(); tag != "!!str" {
			return Command{}, p.invalid(item, "%s is neither a string nor a list", name)
		}
		shell, err := p.text(item, name)
		return Command{Shell: shell}, err
	case item.Kind != yaml.SequenceNode:
		return Command{}, p.invalid(item, "%s is neither a string nor a list", name)
	}
	var args []string
	for _, node := range item.Content {
		if err := p.visit(node); err != nil {
			return Command{}, err
		}
		arg, err := p.text(node, name)
		if err != nil {
			return Command{}, err
		}
		args = append(args, arg)
	}
	return Command{Args: args}, nil
}

// file reads an entry of write_files.
func (p *parser) file(item *yaml.Node, name string) (File, error) {
	var file File
	var encoding, content string
	err := p.object(item, name, fields{
		"path":        into(&file.Path, p.line),
		"owner":       into(&file.Owner, p.owner),
		"permissions": into(&file.Mode, p.permissions),
		"append":      into(&file.Append, p.flag),
		"defer":       into(&file.Defer, p.flag),
		"encoding":    into(&encoding, p.line),
		"content":     into(&content, p.content),
	}, p.refuseField)
	if err != nil {
		return File{}, err
	}
	if file.Content, err = p.decode(content, encoding); err != nil {
		return File{}, p.invalid(item, "%s.content: %s", name, err)
	}
	if file.Path == "" || strings.HasSuffix(file.Path, "/") {
		return File{}, p.invalid(item, "%s.path is not a path of a file", name)
	}
	file.Path = path.Clean("/" + file.Path)
	return file, nil
}

// permissions reads octal permission bits, quoted or not; 0 where none are
// given.
func (p *parser) permissions(node *yaml.Node, field string) (uint32, error) {
	text, err := p.line(node, field)
	if err != nil || text == "" {
		return 0, err
	}
	mode, err := strconv.ParseUint(strings.TrimPrefix(text, "0o"), 8, 32)
	if err != nil || mode > 0o7777 {
		return 0, p.invalid(node, "%s is not an octal mode", field)
	}
	if mode == 0 {
		return NoPermissions, nil
	}
	return uint32(mode), nil
}

func (p *parser) owner(node *yaml.Node, field string) (string, error) {
	owner, err := p.line(node, field)
	if err != nil || owner == "" {
		return "", err
	}
	user, group, _ := strings.Cut(owner, ":")
	if user == "" || !validAccount(user) || group != "" && !validAccount(group) {
		return "", p.invalid(node, "%s is not of the form user:group", field)
	}
	return strings.TrimSuffix(owner, ":"), nil
}

// decode undoes a write_files encoding. Its errors do not quote the content.
func (p *parser) decode(content, encoding string) ([]byte, error) {
	var encoded, compressed bool
	switch strings.ToLower(strings.TrimSpace(encoding)) {
	case "", "text/plain", "none":
		return []byte(content), nil
	case "b64", "base64":
		encoded = true
	case "gz", "gzip":
		compressed = true
	case "gz+base64", "gzip+base64", "gz+b64", "gzip+b64":
		encoded, compressed = true, true
	default:
		return nil, errors.New("unsupported encoding; use b64, base64, gz, gzip, gz+b64, gz+base64, gzip+b64, gzip+base64 or none")
	}
	data := []byte(content)
	if encoded {
		decoded, err := decodeBase64(content)
		if err != nil {
			return nil, errors.New("invalid base64")
		}
		data = decoded
	}
	if !compressed {
		return data, nil
	}
	return p.gunzip(data)
}

func decodeBase64(content string) ([]byte, error) {
	text := strings.TrimRight(withoutSpace(content), "=")
	return base64.RawStdEncoding.DecodeString(text)
}
