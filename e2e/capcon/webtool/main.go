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

// Command webtool is the workload of the quick start's test: a server that
// says which Pod answers, and a client that requests it until it answers.
package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

// patience of the client, about as long as the test's own: a Service's rules and DNS are there
// within seconds, and within a minute where a cluster has just been restarted.
const patience = 4 * time.Minute

func main() {
	if err := run(context.Background(), os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "webtool:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string) error {
	switch {
	case len(args) == 0, len(args) == 1 && args[0] == "serve":
		return serve()
	case len(args) > 1 && args[0] == "get":
		ctx, cancel := context.WithTimeout(ctx, patience)
		defer cancel()
		for _, url := range args[1:] {
			if err := get(ctx, url); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("arguments %q are neither \"serve\", the default, nor \"get URL...\"", args)
}

func serve() error {
	name, err := os.Hostname()
	if err != nil {
		return err
	}
	server := &http.Server{
		Addr:              ":8080",
		ReadHeaderTimeout: time.Second,
		Handler: http.HandlerFunc(func(writer http.ResponseWriter, _ *http.Request) {
			fmt.Fprint(writer, name)
		}),
	}
	return server.ListenAndServe()
}

// get asks until there is an answer, and prints it.
func get(ctx context.Context, url string) error {
	var last error
	for {
		answer, err := getOnce(ctx, url)
		if err == nil {
			fmt.Println(url, answer)
			return nil
		}
		last = err
		select {
		case <-ctx.Done():
			return fmt.Errorf("get %s: %w", url, last)
		case <-time.After(time.Second):
		}
	}
}

// client makes a new connection for each request: one that is kept leads to where
// the first led, which after a restart may be a Pod that has got the address of a
// server that was.
var client = &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}

func getOnce(ctx context.Context, url string) (string, error) {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return "", err
	}
	response, err := client.Do(request)
	if err != nil {
		return "", err
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		return "", err
	}
	if response.StatusCode != http.StatusOK {
		return "", fmt.Errorf("status %s", response.Status)
	}
	return string(body), nil
}
