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

package cloudconfig

import (
	"encoding/base64"
	"errors"
	"path"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"

	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/reader"
	"github.com/capi-samples/cluster-api-provider-container/internal/bootstrap/userdata"
)

// command reads an entry of bootcmd or runcmd. An empty one does nothing.
func (p parser) command(item *yaml.Node, name string) (userdata.Command, error) {
	switch {
	case reader.IsNull(item):
		return userdata.Command{}, nil
	case item.Kind == yaml.ScalarNode:
		if tag := item.ShortTag(); tag != "!!str" {
			return userdata.Command{}, p.Invalid(item, "%s is neither a string nor a list", name)
		}
		shell, err := p.Text(item, name)
		return userdata.Command{Shell: shell}, err
	case item.Kind != yaml.SequenceNode:
		return userdata.Command{}, p.Invalid(item, "%s is neither a string nor a list", name)
	}
	var args []string
	for _, node := range item.Content {
		if err := p.Visit(node); err != nil {
			return userdata.Command{}, err
		}
		arg, err := p.Text(node, name)
		if err != nil {
			return userdata.Command{}, err
		}
		args = append(args, arg)
	}
	return userdata.Command{Args: args}, nil
}

// file reads an entry of write_files.
func (p parser) file(item *yaml.Node, name string) (userdata.File, error) {
	var file userdata.File
	var encoding, content string
	err := p.Object(item, name, reader.Fields{
		"path":        reader.Into(&file.Path, p.Line),
		"owner":       reader.Into(&file.Owner, p.owner),
		"permissions": reader.Into(&file.Mode, p.permissions),
		"append":      reader.Into(&file.Append, p.Flag),
		"defer":       reader.Into(&file.Defer, p.Flag),
		"encoding":    reader.Into(&encoding, p.Line),
		"content":     reader.Into(&content, p.Content),
	}, p.RefuseField)
	if err != nil {
		return userdata.File{}, err
	}
	if file.Content, err = p.decode(content, encoding); err != nil {
		return userdata.File{}, p.Invalid(item, "%s.content: %s", name, err)
	}
	if file.Path == "" || strings.HasSuffix(file.Path, "/") {
		return userdata.File{}, p.Invalid(item, "%s.path is not a path of a file", name)
	}
	file.Path = path.Clean("/" + file.Path)
	return file, nil
}

// permissions reads octal permission bits, quoted or not; 0 where there are none.
func (p parser) permissions(node *yaml.Node, field string) (uint32, error) {
	text, err := p.Line(node, field)
	if err != nil || text == "" {
		return 0, err
	}
	mode, err := strconv.ParseUint(strings.TrimPrefix(text, "0o"), 8, 32)
	if err != nil || mode > 0o7777 {
		return 0, p.Invalid(node, "%s is not an octal mode", field)
	}
	if mode == 0 {
		return userdata.NoPermissions, nil
	}
	return uint32(mode), nil
}

func (p parser) owner(node *yaml.Node, field string) (string, error) {
	owner, err := p.Line(node, field)
	if err != nil || owner == "" {
		return "", err
	}
	user, group, _ := strings.Cut(owner, ":")
	if user == "" || !reader.IsAccount(user) || group != "" && !reader.IsAccount(group) {
		return "", p.Invalid(node, "%s is not of the form user:group", field)
	}
	return strings.TrimSuffix(owner, ":"), nil
}

// decode undoes a write_files encoding. Its errors do not quote the content.
func (p parser) decode(content, encoding string) ([]byte, error) {
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
		var err error
		text := strings.TrimRight(strings.Join(strings.Fields(content), ""), "=")
		if data, err = base64.RawStdEncoding.DecodeString(text); err != nil {
			return nil, errors.New("invalid base64")
		}
	}
	if compressed {
		return p.Gunzip(data)
	}
	return data, nil
}
