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

package preflight_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/simulated"
	"github.com/capi-samples/cluster-api-provider-container/internal/identity"
	"github.com/capi-samples/cluster-api-provider-container/internal/preflight"
	"github.com/capi-samples/cluster-api-provider-container/test/integration"
	"github.com/capi-samples/cluster-api-provider-container/test/must"
)

const testImage = "localhost/test:v1"

// restricted is what a probe printed on a host without CAP_SYS_RESOURCE.
const restricted = `== /proc/sys/fs/inotify/max_user_watches
524288
== /proc/sys/fs/inotify/max_user_instances
128
== /proc/1/status
Name:	sleep
CapInh:	0000000000000000
CapBnd:	0000003ffeffffff
== /proc/1/limits
Limit                     Soft Limit           Hard Limit           Units     
Max open files            1024                 20000                files     
Max locked memory         8388608              8388608              bytes     
Max processes             32768                32768                processes 
== /proc/sys/kernel/pid_max
4194304
== /proc/sys/kernel/threads-max
192000
== /proc/1/uid_map
         0       1000          1
         1     100000      65536
== /proc/sys/net/bridge/bridge-nf-call-iptables
== /sys/fs/cgroup/cgroup.controllers
cpu memory pids
== ipv6
0
== storage
4096 1000 4000 500 1000
`

// unknown is a Host of which nothing is known.
var unknown = preflight.Host{
	InotifyWatches: -1, InotifyInstances: -1, OpenFiles: -1,
	StorageFreeBytes: -1, StorageFreeInodes: -1,
	Processes: -1, PidMax: -1, ThreadsMax: -1, UserIDs: -1, BridgeNetfilter: -1, IPv6: -1,
}

func TestProbe(t *testing.T) {
	t.Parallel()
	broken := errors.New("unable to apply caps")
	btrfs := unknown
	btrfs.StorageFreeBytes = 2
	refused := unknown
	refused.PrivilegedError = broken
	cases := map[string]struct {
		reason string
		change func(*simulated.Engine)
		output string
		want   preflight.Host
		err    error
	}{
		"Restricted": {
			reason: "Each number is found.",
			output: restricted,
			want: preflight.Host{
				InotifyWatches: 524288, InotifyInstances: 128, OpenFiles: 20000, Capabilities: 0x3ffeffffff, HasCapabilities: true,
				StorageFreeBytes: 4096000, StorageFreeInodes: 500,
				Processes: 32768, PidMax: 4194304, ThreadsMax: 192000, UserIDs: 65537,
				CgroupControllers: []string{"cpu", "memory", "pids"}, HasCgroupControllers: true,
				BridgeNetfilter: 0, IPv6: 0,
			},
		},
		"Nothing":   {reason: "A host that shows nothing is unknown.", want: unknown},
		"Unlimited": {reason: "No limit is nothing to judge.", output: "== /proc/1/limits\nMax open files  unlimited  unlimited  files\n", want: unknown},
		"Btrfs": {
			reason: "A file system without inodes of its own has none to run out of.",
			output: "== storage\n1 2 3 0 0\n",
			want:   btrfs,
		},
		"Large": {
			reason: "What exceeds an integer is unknown.",
			output: "== /proc/1/uid_map\n0 0 9223372036854775807\n0 0 9223372036854775807\n== storage\n4096 9223372036854775807 1 1 1\n",
			want:   unknown,
		},
		"Odd": {reason: "What cannot be read is unknown.", output: "== /proc/1/uid_map\n0 0 many\n== ipv6\nmaybe\n== storage\na b c d e\n== /proc/1/status\nCapBnd: zz\n== /proc/1/limits\nMax open files\n", want: unknown},
		"StartRefused": {
			reason: "An engine that refuses is a fact.",
			change: func(eng *simulated.Engine) { eng.FailNext("StartContainer", broken) },
			want:   refused,
		},
		"CreateRefused": {
			reason: "Some refuse earlier.",
			change: func(eng *simulated.Engine) { eng.FailNext("CreateContainer", broken) },
			want:   refused,
		},
		"NoImage": {
			reason: "Without the image nothing was tried.",
			change: func(eng *simulated.Engine) { eng.RemoveImage(testImage) },
			err:    engine.ErrNotFound,
		},
		"Unavailable": {
			reason: "An engine that is away says nothing of its host.",
			change: func(eng *simulated.Engine) { eng.FailNext("StartContainer", engine.ErrUnavailable) },
			err:    engine.ErrUnavailable,
		},
		"ExecFails": {
			reason: "A probe that fails is an error.",
			change: func(eng *simulated.Engine) { eng.FailNext("Exec", broken) },
			err:    broken,
		},
		"RemoveFails": {
			reason: "What is left behind is reported.",
			change: func(eng *simulated.Engine) { eng.FailNext("RemoveContainer", broken) },
			err:    broken,
			want:   unknown,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			eng := simulated.New()
			eng.AddImage(engine.Image{Tags: []string{testImage}}, nil)
			eng.HandleExec(func(string, engine.Command) (engine.Output, error) {
				return engine.Output{Stdout: []byte(tc.output)}, nil
			})
			if tc.change != nil {
				tc.change(eng)
			}
			got, err := preflight.Probe(t.Context(), eng, preflight.ProbeContainer{Name: "probe", Image: testImage, Labels: map[string]string{"a": "b"}})
			if !errors.Is(err, tc.err) {
				t.Fatalf("%s\nProbe: %v, want %v", tc.reason, err, tc.err)
			}
			if diff := cmp.Diff(tc.want, got, cmpopts.EquateErrors()); diff != "" && err == nil {
				t.Errorf("%s\nProbe: -want +got:\n%s", tc.reason, diff)
			}
			if _, err := eng.InspectContainer(t.Context(), "probe"); name != "RemoveFails" && !errors.Is(err, engine.ErrNotFound) {
				t.Errorf("%s\nthe probe is left behind: %v", tc.reason, err)
			}
		})
	}
}

// integrationImages are those that are probed with in use.
func integrationImages() []string {
	return []string{"localhost/capcon/haproxy:2.6", "localhost/capcon/node:v1.36.3"}
}

func TestIntegrationProbe(t *testing.T) {
	t.Parallel()
	eng := integration.Engine(t, integrationImages()...)
	found := must.Get(eng.CreateNetwork(t.Context(), engine.NetworkSpec{Name: "capcon-test-" + identity.NewOwnerID()}))(t)
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(t.Context()), time.Minute)
		defer cancel()
		if err := eng.RemoveNetwork(ctx, found.Name); err != nil {
			t.Error(err)
		}
	})
	for _, image := range integrationImages() {
		t.Run(image, func(t *testing.T) {
			t.Parallel()
			host := must.Get(preflight.Probe(t.Context(), eng, preflight.ProbeContainer{
				Name: "capcon-test-" + identity.NewOwnerID(), Image: image, Network: found.Name,
			}))(t)
			if host.PrivilegedError != nil || !host.HasCapabilities || host.InotifyInstances <= 0 || host.InotifyWatches <= 0 ||
				host.OpenFiles == 0 || host.StorageFreeBytes <= 0 {
				t.Errorf("Probe = %+v, want all of it known", host)
			}
			facts := preflight.Facts{Host: &host, Nodes: 2}
			facts.Engine, facts.EngineError = eng.Info(t.Context())
			items := preflight.Check(facts)
			t.Logf("%+v\n%s", host, preflight.Summary(items))
			if preflight.Failed(items) {
				t.Errorf("this host fails: %s", preflight.Summary(items))
			}
		})
	}
}
