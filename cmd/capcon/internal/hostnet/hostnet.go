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

// Package hostnet reads the address ranges that this host reaches others by. It imports no
// engine and no Kubernetes.
package hostnet

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/input"
)

// Used returns the networks of the interfaces, the routes (on Linux) and the name
// servers of this host, from the files below its root. What cannot be read is left out:
// there are hosts without these files. Loopback and link-local addresses, and routes to
// nearly everything, as of a VPN that takes all, are no networks to avoid.
func Used(root fs.FS, interfaces func() ([]net.Addr, error)) []input.UsedRange {
	used := slices.Concat(nameServers(root), routes(root), routesIPv6(root), interfaceNetworks(interfaces))
	return slices.DeleteFunc(used, func(u input.UsedRange) bool {
		const nearlyEverything = 8
		first := u.Prefix.Addr()
		return u.Prefix.Bits() < nearlyEverything || first.IsLoopback() || first.IsLinkLocalUnicast() || first.IsMulticast()
	})
}

func interfaceNetworks(interfaces func() ([]net.Addr, error)) (used []input.UsedRange) {
	addresses, _ := interfaces()
	for _, address := range addresses {
		if prefix, err := netip.ParsePrefix(address.String()); err == nil {
			used = append(used, input.UsedRange{Prefix: prefix.Masked(), By: fmt.Sprintf("network %s of this host", prefix.Masked())})
		}
	}
	return used
}

// reject is the flag of a route by which there is nothing to reach.
const reject = 0x200

// routes of the main table; see proc_net_route(5) and linux/route.h.
func routes(root fs.FS) (used []input.UsedRange) {
	const (
		columns                                    = 8
		destinationColumn, flagsColumn, maskColumn = 1, 3, 7
	)
	for _, line := range lines(root, "proc/net/route") {
		if len(line) < columns {
			continue
		}
		flags, err := strconv.ParseUint(line[flagsColumn], 16, 32)
		destination, mask := kernelAddress(line[destinationColumn]), kernelAddress(line[maskColumn])
		if err != nil || flags&reject != 0 || destination == nil || mask == nil {
			continue // the heading
		}
		bits, _ := net.IPMask(mask).Size()
		prefix := netip.PrefixFrom(netip.AddrFrom4([4]byte(destination)), bits)
		used = append(used, input.UsedRange{Prefix: prefix, By: fmt.Sprintf("route %s of this host (%s)", prefix, line[0])})
	}
	return used
}

// routesIPv6 of all tables; see net/ipv6/route.c of the kernel. Those of the loopback interface are
// the addresses of this host.
func routesIPv6(root fs.FS) (used []input.UsedRange) {
	const (
		columns                 = 10
		flagsColumn, nameColumn = 8, 9
	)
	for _, line := range lines(root, "proc/net/ipv6_route") {
		if len(line) < columns || line[nameColumn] == "lo" {
			continue
		}
		destination, err := hex.DecodeString(line[0])
		bits, bitsErr := strconv.ParseUint(line[1], 16, 8)
		flags, flagsErr := strconv.ParseUint(line[flagsColumn], 16, 32)
		if errors.Join(err, bitsErr, flagsErr) != nil || flags&reject != 0 || len(destination) != net.IPv6len {
			continue
		}
		prefix := netip.PrefixFrom(netip.AddrFrom16([16]byte(destination)), int(bits)).Masked()
		used = append(used, input.UsedRange{Prefix: prefix, By: fmt.Sprintf("route %s of this host (%s)", prefix, line[nameColumn])})
	}
	return used
}

// kernelAddress is four bytes, which the kernel prints as one number of this machine.
func kernelAddress(text string) []byte {
	number, err := hex.DecodeString(text)
	if err != nil || len(number) != net.IPv4len {
		return nil
	}
	return binary.NativeEndian.AppendUint32(nil, binary.BigEndian.Uint32(number))
}

// nameServers also of systemd-resolved, which is a loopback address in the first file.
func nameServers(root fs.FS) (used []input.UsedRange) {
	for _, path := range []string{"etc/resolv.conf", "run/systemd/resolve/resolv.conf"} {
		for _, line := range lines(root, path) {
			if len(line) < 2 || line[0] != "nameserver" {
				continue
			}
			address, err := netip.ParseAddr(line[1])
			if err != nil {
				continue
			}
			address = address.WithZone("")
			used = append(used, input.UsedRange{Prefix: netip.PrefixFrom(address, address.BitLen()), By: fmt.Sprintf("name server %s of this host", address)})
		}
	}
	return used
}

// lines of a file as fields; none where it cannot be read.
func lines(root fs.FS, path string) (fields [][]string) {
	content, err := fs.ReadFile(root, path)
	if err != nil {
		return nil
	}
	for scanner := bufio.NewScanner(bytes.NewReader(content)); scanner.Scan(); {
		fields = append(fields, strings.Fields(scanner.Text()))
	}
	return fields
}
