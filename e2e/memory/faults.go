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

package memory

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
)

// Fault is what becomes of an operation.
type Fault string

// The faults.
const (
	// Error: it fails without an effect.
	Error Fault = "Error"
	// Lost: it has its effect, and the answer is an error.
	Lost Fault = "Lost"
	// Delay: it takes longer.
	Delay Fault = "Delay"
	// Crash: the container that it names ends afterwards, or a control plane of the cluster
	// whose API server or etcd it is for.
	Crash Fault = "Crash"
)

// FaultConfig says which operations are disturbed, and how often.
type FaultConfig struct {
	// Seed decides which of the operations are. The same seed gives the same sequence for
	// each operation, whatever the others do.
	Seed  uint64      `json:"seed"`
	Rules []FaultRule `json:"rules"`
}

// FaultRule disturbs an operation.
type FaultRule struct {
	// Operation is a method of the engine, such as StartContainer, or * for all methods; Bootstrap;
	// a verb of the API servers of clusters, such as APIServer/list; or a method of etcd,
	// such as Etcd/MemberList. APIServer/* and Etcd/* are all of these.
	Operation string `json:"operation"`
	Fault     Fault  `json:"fault"`
	// Rate is the part of the calls that are disturbed, from 0 to 1.
	Rate float64 `json:"rate"`
	// Duration of a Delay.
	Duration metav1.Duration `json:"duration"`
}

// ErrFaultConfig says that a FaultConfig cannot be used.
var ErrFaultConfig = errors.New("invalid faults")

// ErrInjected is returned by an operation that is disturbed.
var ErrInjected = fmt.Errorf("injected fault: %w", engine.ErrUnavailable)

// ParseFaults reads a FaultConfig from YAML. Invalid: ErrFaultConfig.
func ParseFaults(text string) (FaultConfig, error) {
	var config FaultConfig
	if err := yaml.UnmarshalStrict([]byte(text), &config); err != nil {
		return FaultConfig{}, fmt.Errorf("%w: %w", ErrFaultConfig, err)
	}
	for i, rule := range config.Rules {
		refuse := func(problem string) error { return fmt.Errorf("%w: rules[%d].%s", ErrFaultConfig, i, problem) }
		switch rule.Fault {
		case Error, Lost, Crash:
		case Delay:
			if rule.Duration.Duration <= 0 {
				return FaultConfig{}, refuse("duration must be positive, such as 2s")
			}
		default:
			return FaultConfig{}, refuse(fmt.Sprintf("fault is %q, and must be Error, Lost, Delay or Crash", rule.Fault))
		}
		if rule.Rate < 0 || rule.Rate > 1 {
			return FaultConfig{}, refuse("rate must be from 0 to 1")
		}
		if problem := validateOperation(rule.Operation, rule.Fault); problem != "" {
			return FaultConfig{}, refuse("operation " + problem)
		}
	}
	return config, nil
}

// Injector disturbs the calls of an engine, bootstraps, and the requests to API servers and etcd of
// clusters. It is safe for concurrent use.
type Injector struct {
	// ended ends every Delay.
	ended <-chan struct{}

	mutex  sync.Mutex
	config FaultConfig
	// streams decide, by rule and operation.
	streams map[string]*rand.Rand
	struck  map[Fault]int
}

// NewInjector disturbs nothing yet. A Delay ends with ctx.
func NewInjector(ctx context.Context) *Injector { return &Injector{ended: ctx.Done()} }

// wait for a Delay, or until its client gives up.
func (i *Injector) wait(duration time.Duration, abandoned <-chan struct{}) {
	if duration == 0 {
		return
	}
	timer := time.NewTimer(duration)
	defer timer.Stop()
	select {
	case <-timer.C:
	case <-abandoned:
	case <-i.ended:
	}
}

// Set begins with another configuration.
func (i *Injector) Set(config FaultConfig) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	i.config, i.streams, i.struck = config, map[string]*rand.Rand{}, map[Fault]int{}
}

// Struck counts the faults since Set.
func (i *Injector) Struck() map[Fault]int {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	struck := map[Fault]int{}
	for fault, count := range i.struck {
		struck[fault] = count
	}
	return struck
}

// strike decides which of the faults an operation has, and how long it is delayed.
func (i *Injector) strike(operation string, of ...Fault) (faults map[Fault]bool, delay time.Duration) {
	i.mutex.Lock()
	defer i.mutex.Unlock()
	faults = map[Fault]bool{}
	for index, rule := range i.config.Rules {
		if !covers(rule.Operation, operation) {
			continue
		}
		for _, fault := range of {
			if rule.Fault == fault && i.decide(index, operation) < rule.Rate {
				faults[fault] = true
				i.struck[fault]++
				if fault == Delay {
					delay += rule.Duration.Duration
				}
			}
		}
	}
	return faults, delay
}

// decide returns the next number from 0 to 1 of a rule and an operation.
func (i *Injector) decide(rule int, operation string) float64 {
	key := fmt.Sprintf("%d %s", rule, operation)
	stream := i.streams[key]
	if stream == nil {
		hash := fnv.New64a()
		_, _ = hash.Write([]byte(key))                              // it cannot fail
		stream = rand.New(rand.NewPCG(i.config.Seed, hash.Sum64())) //nolint:gosec // Faults that can be repeated.
		i.streams[key] = stream
	}
	return stream.Float64()
}

// install the faults of calls.
func (i *Injector) install(eng *simulated.Engine) {
	eng.OnCall(func(call simulated.Call) error {
		faults, delay := i.strike(call.Method, Error, Delay)
		i.wait(delay, nil)
		if faults[Error] {
			return fmt.Errorf("%s %s: %w", call.Method, call.Name, ErrInjected)
		}
		return nil
	})
	eng.AfterCall(func(call simulated.Call) error {
		faults, _ := i.strike(call.Method, Lost, Crash)
		if faults[Crash] {
			// What the call names may be no container, or not run.
			_ = eng.CrashContainer(call.Name, 1, false)
		}
		if faults[Lost] {
			return fmt.Errorf("%s %s: %w", call.Method, call.Name, ErrInjected)
		}
		return nil
	})
}

// errBootstrap is what kubeadm ends with.
var errBootstrap = errors.New("injected fault: kubeadm failed")

// bootstrap says how long a bootstrap takes, and whether it fails then.
func (i *Injector) bootstrap(duration time.Duration) (time.Duration, error) {
	faults, delay := i.strike(bootstrapOperation, Error, Delay)
	if faults[Error] {
		return duration + delay, errBootstrap
	}
	return duration + delay, nil
}
