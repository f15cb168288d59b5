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
	"bytes"
	"cmp"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
)

// Status is the health of a server as haproxy sees it.
type Status string

// The states of a server. Others that haproxy has (NOLB and kinds of MAINT)
// are passed on as they are and count as not up.
const (
	// StatusUp: the health check passes, whatever the weight.
	StatusUp Status = "UP"
	// StatusDown: the health check does not pass.
	StatusDown Status = "DOWN"
	// StatusDrain: the health check passes, and an administrator drains it.
	StatusDrain Status = "DRAIN"
	// StatusUnknown: not checked yet, or not a server of the process.
	StatusUnknown Status = ""
)

// Up reports whether the health check passes.
func (s Status) Up() bool { return s == StatusUp || s == StatusDrain }

// Server is a backend as the running process reports it.
type Server struct {
	// Frontend is the name of the Frontend that it is behind.
	Frontend string
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
}

// ErrStatistics says that a text is not haproxy's statistics.
var ErrStatistics = errors.New("not haproxy statistics")

// ParseStatistics reads the servers that are health-checked out of the CSV that
// StatisticsPath answers, in order of their frontends and names. A text that is not such
// CSV: ErrStatistics.
func ParseStatistics(text []byte) ([]Server, error) {
	reader := csv.NewReader(bytes.NewReader(text))
	// Later versions add columns, and a trailing comma ends every line.
	reader.FieldsPerRecord = -1
	header, err := reader.Read()
	if err != nil {
		return nil, fmt.Errorf("read header: %w: %w", ErrStatistics, err)
	}
	columns := make(map[string]int, len(header))
	for i, name := range header {
		columns[name] = i
	}
	for _, name := range []string{columnProxy, columnServer, columnType, columnStatus, columnWeight} {
		if _, found := columns[name]; !found {
			return nil, fmt.Errorf("find column %q: %w", name, ErrStatistics)
		}
	}
	var servers []Server
	for {
		record, err := reader.Read()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("read line: %w: %w", ErrStatistics, err)
		}
		row := statisticsRow{columns: columns, record: record}
		if strings.HasSuffix(row.text(columnProxy), fallbackSuffix) || row.text(columnType) != typeServer {
			continue
		}
		server, err := row.server()
		if err != nil {
			return nil, err
		}
		servers = append(servers, server)
	}
	slices.SortFunc(servers, func(a, b Server) int {
		return cmp.Or(cmp.Compare(a.Frontend, b.Frontend), cmp.Compare(a.Name, b.Name))
	})
	return servers, nil
}

const (
	// fallbackSuffix is what the template adds to the name of a frontend for its servers
	// without a health check.
	fallbackSuffix = "-unready"
	// statusName is the template's frontend for the generation and the statistics.
	statusName = "status"
	// typeServer distinguishes servers from frontends and from sums.
	typeServer = "2"

	// Columns as haproxy's management guide names them; the first is
	// printed as a comment.
	columnProxy     = "# pxname"
	columnServer    = "svname"
	columnType      = "type"
	columnStatus    = "status"
	columnWeight    = "weight"
	columnCheck     = "check_status"
	columnCheckCode = "check_code"
	columnAddress   = "addr"
)

// statisticsRow is one line of the CSV.
type statisticsRow struct {
	columns map[string]int
	record  []string
}

// text of a column; empty where the line has none of the name.
func (r statisticsRow) text(column string) string {
	if i, found := r.columns[column]; found && i < len(r.record) {
		return r.record[i]
	}
	return ""
}

// number in a column; 0 where it is empty.
func (r statisticsRow) number(column string) (int, error) {
	text := r.text(column)
	if text == "" {
		return 0, nil
	}
	number, err := strconv.Atoi(text)
	if err != nil {
		return 0, fmt.Errorf("read column %q: %w: %w", column, ErrStatistics, err)
	}
	return number, nil
}

func (r statisticsRow) server() (Server, error) {
	weight, weightErr := r.number(columnWeight)
	code, codeErr := r.number(columnCheckCode)
	if err := errors.Join(weightErr, codeErr); err != nil {
		return Server{}, err
	}
	// "* L7OK" is a check that is being repeated, with the last result.
	check := strings.TrimPrefix(r.text(columnCheck), "* ")
	return Server{
		Frontend:  r.text(columnProxy),
		Name:      r.text(columnServer),
		Address:   r.text(columnAddress),
		Status:    status(r.text(columnStatus), check),
		Weight:    weight,
		Check:     check,
		CheckCode: code,
	}, nil
}

// status drops the counters of "UP 1/3" and "DOWN 1/2": a server on its way is
// still used, or not, as before. Before its first check haproxy calls a
// server up without knowing.
func status(text, check string) Status {
	word, _, _ := strings.Cut(text, " ")
	if word == "no" || check == "" || check == "INI" {
		return StatusUnknown
	}
	return Status(word)
}
