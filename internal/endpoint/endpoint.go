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

// Package endpoint reads where the engines of objects are, and says which of them a manager may
// dial.
//
//	at, err := endpoint.Parse("ssh://capcon@build.example.org")
//	allowed, err := endpoint.ParseAllowed([]string{"team-a=ssh://*.example.org"})
//	allowed.Has("team-a", at)
package endpoint

import (
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"strconv"
	"strings"
)

// The schemes.
const (
	// TCP is a connection with TLS.
	TCP = "tcp"
	// SSH is a connection through a server of SSH to a socket on its host.
	SSH = "ssh"
)

const (
	// DefaultTLSPort is Docker's.
	DefaultTLSPort = 2376
	// DefaultSSHPort is that of SSH.
	DefaultSSHPort = 22
	// DefaultSocket is Docker's.
	DefaultSocket = "/var/run/docker.sock"
)

// Endpoint is where the API of an engine is.
type Endpoint struct {
	// Scheme is TCP or SSH.
	Scheme string
	// User of SSH; empty for TCP.
	User string
	// Host is an IP address or a DNS name in lower case.
	Host string
	Port uint16
	// Socket on the host of SSH; empty for TCP.
	Socket string
}

// Error says what is wrong with an endpoint.
type Error struct {
	// Reason completes "the endpoint …". It has no part of the endpoint, which may have a password.
	Reason string
	// Remedy is what to do about it.
	Remedy string
}

// Error implements error.
func (e *Error) Error() string { return e.Reason + "; " + e.Remedy }

const (
	letters  = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
	forms    = "use tcp://HOST:PORT, or ssh://USER@HOST"
	noObject = "has a scheme that objects cannot have; " + forms + ". The engine whose socket the manager has needs no object"
)

// Parse reads an endpoint, or returns an *Error.
func Parse(text string) (Endpoint, error) {
	parsed, err := url.Parse(text)
	if err != nil {
		return Endpoint{}, &Error{"is not a URL", forms}
	}
	port, err := portOf(parsed)
	if err != nil {
		return Endpoint{}, err
	}
	at := Endpoint{Scheme: parsed.Scheme, Host: strings.ToLower(parsed.Hostname()), Port: port}
	_, hasPassword := parsed.User.Password()
	switch {
	case parsed.Scheme != TCP && parsed.Scheme != SSH:
		reason, remedy, _ := strings.Cut(noObject, "; ")
		return Endpoint{}, &Error{reason, remedy}
	case hasPassword:
		return Endpoint{}, &Error{"has a password", "put a key into the Secret of the engine"}
	case !isHost(at.Host):
		return Endpoint{}, &Error{"has no valid host", forms}
	case parsed.RawQuery != "" || parsed.Fragment != "":
		return Endpoint{}, &Error{"has a query or a fragment", "remove it"}
	case parsed.Scheme == TCP:
		return at, checkTCP(parsed)
	}
	at.User, at.Socket = parsed.User.Username(), parsed.Path
	if at.Socket == "" {
		at.Socket = DefaultSocket
	}
	return at, checkSSH(at)
}

func checkTCP(parsed *url.URL) error {
	switch {
	case parsed.User != nil:
		return &Error{"has a user, which tcp does not", "remove it"}
	case parsed.Path != "":
		return &Error{"has a path, which tcp does not", "remove it"}
	}
	return nil
}

func checkSSH(at Endpoint) error {
	switch {
	case at.User == "":
		return &Error{"has no user", "use ssh://USER@HOST"}
	case strings.Trim(at.User, letters+"._-") != "":
		return &Error{"has a user that is not a name", "use letters, digits, dashes, underscores and dots"}
	case strings.Trim(at.Socket, letters+"/._+,:=-") != "":
		return &Error{"has a path with other characters than those of a socket", "use letters, digits and /._+,:=-"}
	case path.Clean(at.Socket) != at.Socket || at.Socket == "/":
		return &Error{"has a path that is no socket", "use that of the engine's socket, such as " + DefaultSocket + " or /run/podman/podman.sock"}
	}
	return nil
}

func portOf(parsed *url.URL) (uint16, error) {
	text := parsed.Port()
	switch {
	case text == "" && parsed.Scheme == SSH:
		return DefaultSSHPort, nil
	case text == "":
		return DefaultTLSPort, nil
	}
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return 0, &Error{"has a port that is not one", "use a port from 1 to 65535"}
	}
	return uint16(port), nil
}

// isHost reports whether it is an address without a zone, or can be a DNS name.
func isHost(host string) bool {
	if address, err := netip.ParseAddr(host); err == nil {
		return address.Zone() == ""
	}
	return host != "" && strings.Trim(host, "abcdefghijklmnopqrstuvwxyz0123456789.-") == ""
}

// Address is what to dial.
func (e Endpoint) Address() string { return net.JoinHostPort(e.Host, strconv.Itoa(int(e.Port))) }

// String is the endpoint in full, with what was left out.
func (e Endpoint) String() string {
	if e.Scheme == SSH {
		return fmt.Sprintf("%s://%s@%s%s", e.Scheme, e.User, e.Address(), e.Socket)
	}
	return fmt.Sprintf("%s://%s", e.Scheme, e.Address())
}
