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
	"context"
	"fmt"

	"github.com/spf13/pflag"

	"github.com/cert-manager/cert-manager/internal/webhook"
	logf "github.com/cert-manager/cert-manager/pkg/logs"
	"github.com/cert-manager/cert-manager/pkg/webhook/options"
)

func newWebhook() (*command, error) {
	config, err := options.NewWebhookConfiguration()
	if err != nil {
		return nil, fmt.Errorf("create configuration: %w", err)
	}
	c := &command{flags: pflag.NewFlagSet("webhook", pflag.ContinueOnError), logging: &config.Logging}
	options.AddConfigFlags(c.flags, config)
	c.run = func(ctx context.Context) error {
		server, err := webhook.NewCertManagerWebhookServer(logf.FromContext(ctx), *config)
		if err != nil {
			return fmt.Errorf("create server: %w", err)
		}
		return server.Run(ctx)
	}
	return c, nil
}
