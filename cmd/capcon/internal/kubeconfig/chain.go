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

package kubeconfig

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// file of the user.
type file struct {
	path   string
	files  Files
	exists bool
	// before is what it contained.
	before []byte
	config *api.Config
	// loaded is what config would be written as before it is changed.
	loaded []byte
}

// isChanged reports whether it has to be written.
func (f *file) isChanged() bool {
	text, err := clientcmd.Write(*f.config)
	return err != nil || !bytes.Equal(text, f.loaded)
}

// kinds of entries, as kubectl names them in "config delete-KIND".
const (
	kindContext = "context"
	kindCluster = "cluster"
	kindUser    = "user"
)

// entries of a name by kind, with their extensions.
func (f *file) entries(name string) map[string]map[string]runtime.Object {
	found := map[string]map[string]runtime.Object{}
	if context := f.config.Contexts[name]; context != nil {
		found[kindContext] = context.Extensions
	}
	if cluster := f.config.Clusters[name]; cluster != nil {
		found[kindCluster] = cluster.Extensions
	}
	if user := f.config.AuthInfos[name]; user != nil {
		found[kindUser] = user.Extensions
	}
	return found
}

func (f *file) remove(kind, name string) {
	switch kind {
	case kindContext:
		delete(f.config.Contexts, name)
	case kindCluster:
		delete(f.config.Clusters, name)
	case kindUser:
		delete(f.config.AuthInfos, name)
	}
}

// chain of files in order of precedence: of several entries of a name, the first counts.
type chain []*file

func (c chain) changed() []string {
	var paths []string
	for _, file := range c {
		if file.isChanged() {
			paths = append(paths, file.path)
		}
	}
	return paths
}

// current context; may be empty.
func (c chain) current() string {
	for _, file := range c {
		if file.config.CurrentContext != "" {
			return file.config.CurrentContext
		}
	}
	return ""
}

// destination of entries that no file has, and of the current context: the first file that
// exists, or else the last one, as for "kubectl config".
func (c chain) destination() *file {
	if at := slices.IndexFunc(c, func(f *file) bool { return f.exists }); at >= 0 {
		return c[at]
	}
	return c[len(c)-1]
}

// holder of an entry, or where it is to be added.
func (c chain) holder(kind, name string) *file {
	for _, file := range c {
		if _, found := file.entries(name)[kind]; found {
			return file
		}
	}
	return c.destination()
}

func (c chain) hasContext(name string) bool {
	return slices.ContainsFunc(c, func(f *file) bool { return f.config.Contexts[name] != nil })
}

// find the context of the owner.
func (c chain) find(owner Owner) (mark, bool) {
	for _, file := range c {
		if extensions, found := file.entries(owner.Context())[kindContext]; found {
			m, marked := markOf(extensions)
			return m, marked && m.isOf(owner)
		}
	}
	return mark{}, false
}

// checkForeign refuses to change entries of another owner.
func (c chain) checkForeign(owner Owner) error {
	name := owner.Context()
	for _, file := range c {
		var reason string
		var commands []string
		entries := file.entries(name)
		for _, kind := range []string{kindContext, kindCluster, kindUser} {
			extensions, found := entries[kind]
			m, marked := markOf(extensions)
			switch {
			case !found, marked && m.isOf(owner):
				continue
			case reason != "":
			case marked:
				reason = fmt.Sprintf("has a %s %q of a cluster on %s", kind, name, m.Engine)
			default:
				reason = fmt.Sprintf("has a %s %q that capcon did not write", kind, name)
			}
			commands = append(commands, "kubectl config delete-"+kind+" "+name)
		}
		if reason != "" {
			return file.files.refuse(file.path, reason, "delete it ("+strings.Join(commands, "; ")+"), use another name, or "+anotherFile)
		}
	}
	return nil
}

// merge an entry for the owner.
func (c chain) merge(owner Owner, made entry) (Written, error) {
	if err := c.checkForeign(owner); err != nil {
		return Written{}, err
	}
	name, current := owner.Context(), c.current()
	previous, _ := c.find(owner)
	marked := mark{Engine: owner.Engine, OwnerID: owner.ID, PreviousContext: previous.PreviousContext}
	if made.isCurrent && current != name {
		c.relink(name, previous.PreviousContext)
		marked.PreviousContext = current
		c.destination().config.CurrentContext = name
	}
	if err := c.set(name, marked, made); err != nil {
		return Written{}, err
	}
	return Written{Path: c.holder(kindContext, name).path, Context: name, Current: c.current() == name}, nil
}

func (c chain) set(name string, marked mark, made entry) error {
	withPrevious, err := marked.extensions()
	if err != nil {
		return err
	}
	marked.PreviousContext = ""
	extensions, err := marked.extensions()
	if err != nil {
		return err
	}
	context := &api.Context{Cluster: name, AuthInfo: name, Extensions: withPrevious}
	into := c.holder(kindContext, name)
	if before := into.config.Contexts[name]; before != nil {
		context.Namespace = before.Namespace // of "kubectl config set-context"
	}
	into.config.Contexts[name] = context

	cluster := api.NewCluster()
	if made.cluster != nil {
		cluster = made.cluster.DeepCopy()
	}
	cluster.Extensions = extensions
	c.holder(kindCluster, name).config.Clusters[name] = cluster

	user := api.NewAuthInfo()
	if made.user != nil {
		user = made.user.DeepCopy()
	}
	user.Extensions = extensions
	c.holder(kindUser, name).config.AuthInfos[name] = user
	return nil
}

// remove what is of the owner, and report whether there was any.
func (c chain) remove(owner Owner) (removed bool) {
	name := owner.Context()
	before, found := c.find(owner)
	for _, file := range c {
		for kind, extensions := range file.entries(name) {
			if m, marked := markOf(extensions); marked && m.isOf(owner) {
				file.remove(kind, name)
				removed = true
			}
		}
	}
	if !found || c.hasContext(name) {
		return removed
	}
	c.relink(name, before.PreviousContext)
	restored := before.PreviousContext
	if !c.hasContext(restored) {
		restored = ""
	}
	for _, file := range c {
		if file.config.CurrentContext == name {
			file.config.CurrentContext = restored
		}
	}
	return removed
}

// relink the contexts of capcon that were preceded by a context to the one before it, so that the
// clusters can be deleted in any order.
func (c chain) relink(from, to string) {
	for _, file := range c {
		for name, context := range file.config.Contexts {
			m, marked := markOf(context.Extensions)
			if !marked || m.PreviousContext != from || name == from {
				continue
			}
			if m.PreviousContext = to; to == name {
				m.PreviousContext = ""
			}
			if extensions, err := m.extensions(); err == nil {
				context.Extensions[extension] = extensions[extension]
			}
		}
	}
}
