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
	"bytes"
	"cmp"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v3"
)

// FormatCloudConfig is the format of a data secret without a format.
const FormatCloudConfig = "cloud-config"

const cloudConfigHeader = "#cloud-config"

var (
	templateHeader = regexp.MustCompile(`(?i)^##\s*template:\s*(\S*)\s*$`)
	yamlErrorLine  = regexp.MustCompile(`line (\d+)`)
	shownName      = regexp.MustCompile(`^[\w.\[\]-]{0,64}$`)
)

// parser walks the YAML nodes by hand: the library's own decoding puts values into its errors, and loses the lines and
// the way numbers such as 0644 were written.
type parser struct {
	// lineOffset is added to the YAML's lines to give those of the data.
	lineOffset int
	// unsupported collects the names of everything that cannot be carried out.
	unsupported []string
	// decoded and entries are what has been spent of maxDecodedBytes and maxEntries.
	decoded, entries int
}

// Parse reads bootstrap data. An empty format means cloud-config. Cloud-config whose first line is "## template: jinja"
// is rendered with the instance's values first; compressed data is decompressed.
//
// The errors are *FormatError, *UnsupportedError and *InvalidError. None of them quotes the data, and none goes away
// by trying again with the same data.
func Parse(data []byte, format string, instance Instance) (config Config, err error) {
	p := new(parser)
	if data, err = p.decompress(data); err != nil {
		return Config{}, err
	}
	switch format {
	case "", FormatCloudConfig:
		var text string
		if text, err = p.cloudConfigText(data, instance); err == nil {
			config, err = p.parse(text)
		}
	case FormatIgnition:
		config, err = p.parseIgnition(data)
	default:
		err = &FormatError{Format: format}
	}
	if err == nil {
		err = p.boundDocuments(config)
	}
	if err != nil {
		return Config{}, err
	}
	return config, nil
}

// decompress returns data as it was before it was compressed, and refuses data that is empty.
func (p *parser) decompress(data []byte) (_ []byte, err error) {
	if bytes.HasPrefix(data, []byte{0x1f, 0x8b}) {
		if data, err = p.gunzip(data); err != nil {
			return nil, &InvalidError{Problem: "it is compressed, and " + err.Error()}
		}
	}
	data = bytes.TrimPrefix(data, []byte("\ufeff"))
	if len(bytes.TrimSpace(data)) == 0 {
		return nil, &InvalidError{Problem: "empty"}
	}
	return data, nil
}

// cloudConfigText returns the YAML of data: without the template header and rendered.
func (p *parser) cloudConfigText(data []byte, instance Instance) (text string, err error) {
	text, firstLine := string(data), 1
	first, rest, _ := strings.Cut(text, "\n")
	if header := templateHeader.FindStringSubmatch(first); header != nil {
		if !strings.EqualFold(header[1], "jinja") {
			return "", &InvalidError{Line: 1, Problem: "unsupported template type; use jinja"}
		}
		firstLine++
		if text, err = render(rest, firstLine, instance); err != nil {
			return "", err
		}
		if err := p.spend(len(text)); err != nil {
			return "", &InvalidError{Problem: err.Error()}
		}
	}
	p.lineOffset = firstLine - 1
	header, _, _ := strings.Cut(text, "\n")
	if strings.TrimRight(header, " \t\r") != cloudConfigHeader {
		return "", &InvalidError{Line: firstLine, Problem: "cloud-config must begin with the line " + cloudConfigHeader}
	}
	return text, nil
}

// gunzip returns the decompressed data. Its errors do not quote the data.
func (p *parser) gunzip(data []byte) ([]byte, error) {
	r, err := gzip.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, errors.New("invalid gzip header")
	}
	var out bytes.Buffer
	if _, err := out.ReadFrom(io.LimitReader(r, int64(maxDecodedBytes-p.decoded+1))); err != nil {
		return nil, errors.New("invalid gzip data")
	}
	return out.Bytes(), p.spend(out.Len())
}

func (p *parser) parse(text string) (Config, error) {
	var document yaml.Node
	if err := unmarshal([]byte(text), &document); err != nil {
		return Config{}, p.yamlError(err)
	}
	if len(document.Content) == 0 {
		return Config{}, nil
	}
	modules, err := p.mapping(document.Content[0], "cloud-config")
	if err != nil {
		return Config{}, err
	}
	var config Config
	err = fields{
		"bootcmd":     into(&config.BootCommands, listOf(p, p.command)),
		"write_files": into(&config.Files, listOf(p, p.file)),
		"users":       into(&config.Users, listOf(p, p.user)),
		"runcmd":      into(&config.Commands, listOf(p, p.command)),
	}.read(modules, "", p.refuseModule)
	return config, cmp.Or(err, p.refused())
}

// refused is the error that names everything that was refused.
func (p *parser) refused() error {
	if len(p.unsupported) == 0 {
		return nil
	}
	slices.Sort(p.unsupported)
	return &UnsupportedError{Modules: slices.Compact(p.unsupported)}
}

// refuseModule notes a module that is not supported, if it asks for something.
func (p *parser) refuseModule(node *yaml.Node, name string) error {
	if !isEmptyModule(node, name) {
		p.refuse(name)
	}
	return nil
}

// isEmptyModule says that a module is there without a request: providers emit such modules for empty settings.
func isEmptyModule(value *yaml.Node, name string) bool {
	if isNull(value) || value.Kind != yaml.ScalarNode && len(value.Content) == 0 {
		return true
	}
	if name != "ntp" || value.Kind != yaml.MappingNode || lookup(value, "enabled") == nil {
		return false
	}
	enabled, ok := boolean(lookup(value, "enabled"))
	return ok && !enabled
}

// refuseField notes a field that is not supported, whatever it says.
func (p *parser) refuseField(_ *yaml.Node, path string) error {
	p.refuse(path)
	return nil
}

// refuse notes the name of a module or option that is not supported. Names are keys of the data and may be anything:
// what does not look like one is not repeated.
func (p *parser) refuse(name string) {
	if !shownName.MatchString(name) {
		name = "(invalid module name)"
	}
	p.unsupported = append(p.unsupported, name)
}

func (p *parser) invalid(node *yaml.Node, format string, args ...any) error {
	return &InvalidError{Line: node.Line + p.lineOffset, Problem: fmt.Sprintf(format, args...)}
}

// yamlError keeps only the line of the YAML library's error, whose text may quote the data.
func (p *parser) yamlError(err error) error {
	if tooLarge := (*InvalidError)(nil); errors.As(err, &tooLarge) {
		return err
	}
	invalid := &InvalidError{Problem: "not valid YAML"}
	if match := yamlErrorLine.FindStringSubmatch(err.Error()); match != nil {
		if line, err := strconv.Atoi(match[1]); err == nil {
			invalid.Line = line + p.lineOffset
		}
	}
	return invalid
}
