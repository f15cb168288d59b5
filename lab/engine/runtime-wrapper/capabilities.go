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

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// capabilityNames lists Linux capabilities by number, as the kernel's bit masks
// count them (include/uapi/linux/capability.h, Linux 5.9 and later).
var capabilityNames = []string{
	"CAP_CHOWN", "CAP_DAC_OVERRIDE", "CAP_DAC_READ_SEARCH", "CAP_FOWNER", "CAP_FSETID",
	"CAP_KILL", "CAP_SETGID", "CAP_SETUID", "CAP_SETPCAP", "CAP_LINUX_IMMUTABLE",
	"CAP_NET_BIND_SERVICE", "CAP_NET_BROADCAST", "CAP_NET_ADMIN", "CAP_NET_RAW", "CAP_IPC_LOCK",
	"CAP_IPC_OWNER", "CAP_SYS_MODULE", "CAP_SYS_RAWIO", "CAP_SYS_CHROOT", "CAP_SYS_PTRACE",
	"CAP_SYS_PACCT", "CAP_SYS_ADMIN", "CAP_SYS_BOOT", "CAP_SYS_NICE", "CAP_SYS_RESOURCE",
	"CAP_SYS_TIME", "CAP_SYS_TTY_CONFIG", "CAP_MKNOD", "CAP_LEASE", "CAP_AUDIT_WRITE",
	"CAP_AUDIT_CONTROL", "CAP_SETFCAP", "CAP_MAC_OVERRIDE", "CAP_MAC_ADMIN", "CAP_SYSLOG",
	"CAP_WAKE_ALARM", "CAP_BLOCK_SUSPEND", "CAP_AUDIT_READ", "CAP_PERFMON", "CAP_BPF",
	"CAP_CHECKPOINT_RESTORE",
}

// capabilitySet is a kernel capability mask.
type capabilitySet uint64

// errNoBoundingSet means that /proc/self/status has no CapBnd line.
var errNoBoundingSet = errors.New("no CapBnd in the process status")

// parseBoundingSet reads the capabilities that a process may ever gain from the
// text of /proc/self/status.
func parseBoundingSet(status string) (capabilitySet, error) {
	for line := range strings.Lines(status) {
		mask, found := strings.CutPrefix(line, "CapBnd:")
		if !found {
			continue
		}
		set, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
		if err != nil {
			return 0, fmt.Errorf("parse the bounding set: %w", err)
		}
		return capabilitySet(set), nil
	}
	return 0, errNoBoundingSet
}

// lacks reports whether the host cannot give the capability. A name that is not
// in the table is never lacking: runc is the better judge of it.
func (s capabilitySet) lacks(name string) bool {
	number := slices.Index(capabilityNames, strings.ToUpper(name))
	return number >= 0 && s&(1<<number) == 0
}

// document is a JSON object of which only the parts that change are understood;
// all others are written back as they were read.
type document map[string]json.RawMessage

// restrictConfig removes lacking capabilities from an OCI config.json.
func restrictConfig(data []byte, available capabilitySet) ([]byte, error) {
	return changeMember(data, "process", func(process []byte) ([]byte, error) {
		return restrictProcess(process, available)
	})
}

// restrictProcess removes lacking capabilities from an OCI process description,
// from each of its sets (bounding, effective, permitted, inheritable, ambient).
func restrictProcess(data []byte, available capabilitySet) ([]byte, error) {
	return changeMember(data, "capabilities", func(capabilities []byte) ([]byte, error) {
		sets := map[string][]string{}
		if err := json.Unmarshal(capabilities, &sets); err != nil {
			return nil, fmt.Errorf("decode the capabilities: %w", err)
		}
		for kind := range sets {
			sets[kind] = slices.DeleteFunc(sets[kind], available.lacks)
		}
		return json.Marshal(sets)
	})
}

// changeMember replaces one member of a JSON object. An absent or null member
// stays as it is.
func changeMember(data []byte, name string, change func([]byte) ([]byte, error)) ([]byte, error) {
	doc := document{}
	if err := json.Unmarshal(data, &doc); err != nil {
		return nil, fmt.Errorf("decode the object that holds %q: %w", name, err)
	}
	member, found := doc[name]
	if !found || string(member) == "null" {
		return data, nil
	}
	changed, err := change(member)
	if err != nil {
		return nil, err
	}
	doc[name] = changed
	return json.Marshal(doc)
}
