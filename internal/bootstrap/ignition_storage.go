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
	"cmp"
	"maps"
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
	noDisks = "containers have no disks; use spec.extraMounts of the ContainerMachine"
)

// ignitionNode is what files, directories and links have in common.
type ignitionNode struct {
	path, user, group string
	overwrite         Switch
	// mode is 0 where none is given.
	mode uint32
}

// owner is "user:group"; what is not given is root's.
func (n ignitionNode) owner() string {
	return cmp.Or(n.user, "root") + ":" + cmp.Or(n.group, "root")
}

// permissions that are not given are none at all: what was meant is not known, and it may be a key.
func (n ignitionNode) permissions() uint32 { return cmp.Or(n.mode, NoPermissions) }

func (p *parser) ignitionFile(node *yaml.Node, path string) (File, error) {
	var file File
	common, err := p.ignitionNode(node, path, fields{
		"append":   into(&file.Append, p.flag),
		"contents": into(&file.Content, p.fileContents),
	})
	if err != nil {
		return File{}, err
	}
	if file.Append && common.overwrite == SwitchOn {
		return File{}, p.invalid(node, "%s must not set both append and overwrite", path)
	}
	// Files are written after the accounts exist, as Ignition does.
	file.Defer = true
	file.Path, file.Owner, file.Mode, file.Overwrite = common.path, common.owner(), common.permissions(), common.overwrite
	if file.Append {
		file.KeepAttributes = common.mode == 0 && common.user == "" && common.group == ""
	} else if file.Overwrite == SwitchUnset {
		file.Overwrite = SwitchOn
	}
	return file, nil
}

func (p *parser) ignitionDirectory(node *yaml.Node, path string) (Dir, error) {
	common, err := p.ignitionNode(node, path, nil)
	return Dir{Path: common.path, Owner: common.owner(), Mode: common.permissions(), Overwrite: common.overwrite}, err
}

func (p *parser) ignitionLink(node *yaml.Node, path string) (Link, error) {
	var link Link
	common, err := p.ignitionNode(node, path, fields{
		"target": into(&link.Target, p.line),
		"hard":   into(&link.Hard, p.flag),
	})
	if err == nil && link.Target == "" {
		err = p.invalid(node, "%s.target is required", path)
	}
	link.Path, link.Owner, link.Overwrite = common.path, common.owner(), common.overwrite
	if link.Overwrite == SwitchUnset {
		link.Overwrite = SwitchOff
	}
	return link, err
}

// ignitionNode reads what all have in common, and the fields of one of them.
func (p *parser) ignitionNode(node *yaml.Node, name string, own fields) (ignitionNode, error) {
	var common ignitionNode
	var filesystem string
	known := fields{
		"path":       into(&common.path, p.line),
		"filesystem": into(&filesystem, p.line),
		"user":       into(&common.user, p.account),
		"group":      into(&common.group, p.account),
		"overwrite":  into(&common.overwrite, p.toggle),
		"mode":       into(&common.mode, p.mode),
	}
	maps.Copy(known, own)
	if err := p.section(known)(node, name); err != nil {
		return ignitionNode{}, err
	}
	if filesystem != "root" {
		p.refuseFor(name+".filesystem", strconv.Quote(cut(filesystem)), "use root; "+noDisks)
	}
	if !strings.HasPrefix(common.path, "/") || path.Clean(common.path) == "/" {
		return ignitionNode{}, p.invalid(node, "%s.path is not an absolute path", name)
	}
	common.path = path.Clean(common.path)
	return common, nil
}

// mode reads permissions; 0 where none are given.
func (p *parser) mode(node *yaml.Node, path string) (uint32, error) {
	if isNull(node) {
		return 0, nil
	}
	number, err := p.integer(node, path, maxMode)
	return cmp.Or(uint32(number), NoPermissions), err //nolint:gosec // At most maxMode.
}

// account reads who owns something: {"id": 0} or {"name": "root"}.
func (p *parser) account(node *yaml.Node, path string) (string, error) {
	var name, id string
	err := p.object(node, path, fields{
		"id":   into(&id, p.id),
		"name": into(&name, p.accountName("a valid account name")),
	}, func(node *yaml.Node, path string) error {
		if !isNull(node) {
			p.refuse(path)
		}
		return nil
	})
	if err == nil && name != "" && id != "" {
		err = p.invalid(node, "%s must not have both id and name", path)
	}
	return name + id, err
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
