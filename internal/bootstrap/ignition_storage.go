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
	"path"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	maxMode = 0o7777
	// maxID is the largest id of a user or group that is not an error code.
	maxID = 1<<32 - 2
	// noDisks is what to do about disks, partitions, RAID and file systems.
	noDisks = "a container has no disks of its own; use extraMounts of the ContainerMachine"
)

// ignitionNode is what files, directories and links have in common.
type ignitionNode struct {
	path, user, group string
	overwrite         Switch
	mode              uint32
	hasMode           bool
}

// owner is "user:group"; what is not given is root's.
func (n ignitionNode) owner() string {
	user, group := n.user, n.group
	if user == "" {
		user = "root"
	}
	if group == "" {
		group = "root"
	}
	return user + ":" + group
}

func (p *parser) storage(config *Config, field entry, path string) (err error) {
	switch field.key {
	case "files":
		return p.items(field.value, path, func(fields []entry, node *yaml.Node, path string) error {
			file, err := p.ignitionFile(fields, node, path)
			config.Files = append(config.Files, file)
			return err
		})
	case "directories":
		return p.items(field.value, path, func(fields []entry, node *yaml.Node, path string) error {
			directory, err := p.ignitionDirectory(fields, node, path)
			config.Directories = append(config.Directories, directory)
			return err
		})
	case "links":
		return p.items(field.value, path, func(fields []entry, node *yaml.Node, path string) error {
			link, err := p.ignitionLink(fields, node, path)
			config.Links = append(config.Links, link)
			return err
		})
	case "disks", "raid", "filesystems":
		p.refuseUnlessEmpty(field.value, path, noDisks)
	default:
		p.refuseUnlessEmpty(field.value, path, "")
	}
	return nil
}

func (p *parser) ignitionFile(fields []entry, node *yaml.Node, path string) (File, error) {
	var file File
	common, err := p.ignitionNode(fields, node, path, func(field entry, path string) (err error) {
		switch field.key {
		case "append":
			file.Append, err = p.flag(field.value, path)
		case "contents":
			file.Content, err = p.fileContents(field.value, path)
		default:
			p.refuseUnlessEmpty(field.value, path, "")
		}
		return err
	})
	if err != nil {
		return File{}, err
	}
	if file.Append && common.overwrite == SwitchOn {
		return File{}, p.invalid(node, "%s cannot both append and overwrite", path)
	}
	// Files are written after the accounts exist, as Ignition does.
	file.Defer = true
	file.Path, file.Owner, file.Mode, file.Overwrite = common.path, common.owner(), common.mode, common.overwrite
	if file.Append {
		file.KeepAttributes = !common.hasMode && common.user == "" && common.group == ""
	} else if file.Overwrite == SwitchUnset {
		file.Overwrite = SwitchOn
	}
	return file, nil
}

func (p *parser) ignitionDirectory(fields []entry, node *yaml.Node, path string) (Dir, error) {
	common, err := p.ignitionNode(fields, node, path, func(field entry, path string) error {
		p.refuseUnlessEmpty(field.value, path, "")
		return nil
	})
	return Dir{Path: common.path, Owner: common.owner(), Mode: common.mode, Overwrite: common.overwrite}, err
}

func (p *parser) ignitionLink(fields []entry, node *yaml.Node, path string) (Link, error) {
	var link Link
	common, err := p.ignitionNode(fields, node, path, func(field entry, path string) (err error) {
		switch field.key {
		case "target":
			link.Target, err = p.line(field.value, path)
		case "hard":
			link.Hard, err = p.flag(field.value, path)
		default:
			p.refuseUnlessEmpty(field.value, path, "")
		}
		return err
	})
	if err != nil {
		return Link{}, err
	}
	if link.Target == "" {
		return Link{}, p.invalid(node, "%s.target is missing", path)
	}
	link.Path, link.Owner, link.Overwrite = common.path, common.owner(), common.overwrite
	if link.Overwrite == SwitchUnset {
		link.Overwrite = SwitchOff
	}
	return link, nil
}

// ignitionNode reads what all have in common, and has the rest read by other.
func (p *parser) ignitionNode(fields []entry, item *yaml.Node, name string, other func(entry, string) error) (ignitionNode, error) {
	// Permissions that are not given are none at all: what was meant is not known, and it may be a key.
	common := ignitionNode{mode: NoPermissions}
	filesystem := ""
	for _, field := range fields {
		path := name + "." + field.key
		var err error
		switch field.key {
		case "path":
			common.path, err = p.line(field.value, path)
		case "filesystem":
			filesystem, err = p.line(field.value, path)
		case "user":
			common.user, err = p.account(field.value, path)
		case "group":
			common.group, err = p.account(field.value, path)
		case "overwrite":
			common.overwrite, err = p.toggle(field.value, path)
		case "mode":
			common.mode, common.hasMode, err = p.mode(field.value, path)
		default:
			err = other(field, path)
		}
		if err != nil {
			return ignitionNode{}, err
		}
	}
	if filesystem != "root" {
		p.refuseFor(name+".filesystem", strconv.Quote(cut(filesystem)), "use root; "+noDisks)
	}
	if !strings.HasPrefix(common.path, "/") || path.Clean(common.path) == "/" {
		return ignitionNode{}, p.invalid(item, "%s.path is not an absolute path", name)
	}
	common.path = path.Clean(common.path)
	return common, nil
}

func (p *parser) mode(node *yaml.Node, path string) (mode uint32, given bool, err error) {
	if isNull(node) {
		return NoPermissions, false, nil
	}
	number, err := p.integer(node, path, maxMode)
	if number == 0 {
		return NoPermissions, true, err
	}
	return uint32(number), true, err //nolint:gosec // At most maxMode.
}

// account reads who owns something: {"id": 0} or {"name": "root"}.
func (p *parser) account(node *yaml.Node, path string) (string, error) {
	fields, err := p.mapping(node, path)
	if err != nil {
		return "", err
	}
	var name, id string
	for _, field := range fields {
		path := path + "." + field.key
		switch {
		case isNull(field.value):
		case field.key == "id":
			var number int
			number, err = p.integer(field.value, path, maxID)
			id = strconv.Itoa(number)
		case field.key == "name":
			if name, err = p.line(field.value, path); err == nil && name != "" && !validAccount(name) {
				err = p.invalid(field.value, "%s is not the name of an account", path)
			}
		default:
			p.refuse(path)
		}
		if err != nil {
			return "", err
		}
	}
	if name != "" && id != "" {
		return "", p.invalid(node, "%s has both an id and a name", path)
	}
	return name + id, nil
}

// toggle reads a boolean that may be absent.
func (p *parser) toggle(node *yaml.Node, path string) (Switch, error) {
	if isNull(node) {
		return SwitchUnset, nil
	}
	on, err := p.flag(node, path)
	if on {
		return SwitchOn, err
	}
	return SwitchOff, err
}
