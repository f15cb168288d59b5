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

package haproxy

import (
	"errors"
)

// Status is the health of a server as haproxy sees it.
type Status string

// The states of a server. Others that haproxy has (NOLB and kinds of MAINT)
// are passed on as they are and count as not up.
const (
	// StatusUp: the health check passes.
	StatusUp Status = "UP"
	// StatusDown: the health check does not pass.
	StatusDown Status = "DOWN"
	// StatusDrain: the health check passes and the weight is 0.
	StatusDrain Status = "DRAIN"
	// StatusUnknown: not checked yet, or not a server of the process.
	StatusUnknown Status = ""
)

// Up reports whether the health check passes.
func (s Status) Up() bool { return s == StatusUp || s == StatusDrain }

// Server is a backend as the running process reports it.
type Server struct {
	// Name of the Backend.
	Name string
	// Address and port as "address:port".
	Address string
	Status  Status
	// Weight in use.
	Weight int
	// Check is haproxy's result of the last health check, such as "L7OK",
	// "L7STS" or "L4CON"; empty before the first.
	Check string
	// CheckCode is the HTTP status of the last check; 0 = none came.
	CheckCode int
	// Sessions that are open through this process now.
	Sessions int
}

// ErrStatistics says that a text is not haproxy's statistics.
var ErrStatistics = errors.New("not haproxy's statistics")

// ParseStatistics reads the servers of the control plane out of the CSV that
// StatisticsPath answers, in order of their names. A text that is not such
// CSV: ErrStatistics.
func ParseStatistics(csv []byte) ([]Server, error) { return nil, ErrStatistics }
