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

// Command web is the application of the tutorials: it answers with the name of its Pod. Where
// DATA names a directory, it also counts its answers, and keeps the number there.
package main

import (
	"fmt"
	"log"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

func main() {
	name, err := os.Hostname()
	if err != nil {
		log.Fatal(err)
	}
	counter := &counter{}
	if directory := os.Getenv("DATA"); directory != "" {
		counter.file = filepath.Join(directory, "visits")
	}
	server := &http.Server{
		Addr:              ":8080",
		ReadHeaderTimeout: time.Second,
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			visits, err := counter.next()
			if err != nil {
				http.Error(w, err.Error(), http.StatusInternalServerError)
				return
			}
			if _, err := fmt.Fprintf(w, "%s%s\n", name, visits); err != nil {
				log.Print(err)
			}
		}),
	}
	log.Fatal(server.ListenAndServe())
}

// counter keeps a number in a file.
type counter struct {
	mutex sync.Mutex
	// file of the number; empty = nothing is counted.
	file string
}

// next number, as it ends an answer.
func (c *counter) next() (string, error) {
	if c.file == "" {
		return "", nil
	}
	c.mutex.Lock()
	defer c.mutex.Unlock()
	content, err := os.ReadFile(c.file)
	if err != nil && !os.IsNotExist(err) {
		return "", fmt.Errorf("read the number of visits: %w", err)
	}
	visits := 0
	if err == nil {
		if visits, err = strconv.Atoi(strings.TrimSpace(string(content))); err != nil {
			return "", fmt.Errorf("read the number of visits: %w", err)
		}
	}
	visits++
	if err := os.WriteFile(c.file, []byte(strconv.Itoa(visits)), 0o600); err != nil {
		return "", fmt.Errorf("write the number of visits: %w", err)
	}
	return fmt.Sprintf(" visit %d", visits), nil
}
