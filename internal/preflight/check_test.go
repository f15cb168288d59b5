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

package preflight

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/capi-samples/cluster-api-provider-container/internal/engine"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/docker"
	"github.com/capi-samples/cluster-api-provider-container/internal/engine/podman"
)

// good is an engine on a host that lacks nothing.
func good() (engine.Info, Host) {
	const gibibyte = 1 << 30
	return engine.Info{
			Name: "docker", Traits: docker.Traits(), Version: "28.5.2", CgroupVersion: "2", CgroupDriver: "systemd",
			StorageDriver: "overlay2", CPUs: 8, MemoryBytes: 16 * gibibyte,
		}, Host{
			InotifyWatches: 524288, InotifyInstances: 8192, OpenFiles: 1048576,
			Capabilities: 0x1ffffffffff, HasCapabilities: true,
			StorageFreeBytes: 100 * gibibyte, StorageFreeInodes: 1e6,
			Processes: unknown, PidMax: 4194304, ThreadsMax: 127000, UserIDs: 4294967295,
			CgroupControllers: []string{"cpuset", "cpu", "io", "memory", "pids"}, HasCgroupControllers: true,
			BridgeNetfilter: 1, IPv6: 1,
		}
}

func TestCheck(t *testing.T) {
	t.Parallel()
	const gibibyte = 1 << 30
	cases := map[string]struct {
		reason string
		change func(*Facts, *Host)
		// want are names with severities.
		want []string
	}{
		"Well": {"Nothing is lacking.", func(*Facts, *Host) {}, nil},
		"NotProbed": {
			"What is not known is not judged.",
			func(f *Facts, _ *Host) { f.Host = nil }, nil,
		},
		"Unknown": {
			"What a probe did not find is not judged.",
			func(_ *Facts, h *Host) { *h = parseProbe("") }, nil,
		},
		"Unreachable": {
			"No engine: nothing else is known.",
			func(f *Facts, _ *Host) { f.EngineError = fmt.Errorf("dial: %w", engine.ErrUnavailable) }, []string{"EngineReachable error"},
		},
		"Permission": {
			"A socket that refuses is another remedy.",
			func(f *Facts, _ *Host) { f.EngineError = fmt.Errorf("dial: %w", engine.ErrUnauthorized) }, []string{"EnginePermission error"},
		},
		"Broken": {
			"Any other error has a remedy too.",
			func(f *Facts, _ *Host) { f.EngineError = errors.New("boom") }, []string{"EngineAnswer error"},
		},
		"OldDocker": {
			"It has no private cgroup namespaces.",
			func(f *Facts, _ *Host) { f.Engine.Version = "19.03.15" }, []string{"EngineVersion error"},
		},
		"OldestDocker": {
			"Debian 11 and 12 have it.",
			func(f *Facts, _ *Host) { f.Engine.Version = "20.10.24+dfsg1" }, nil,
		},
		"OldPodman": {
			"It is not tested.",
			func(f *Facts, _ *Host) {
				f.Engine.Name, f.Engine.Traits, f.Engine.Version = "podman", podman.Traits(), "4.2.0"
			}, []string{"EngineVersion error"},
		},
		"OldestPodman": {
			"Debian 12 has 4.3.1.",
			func(f *Facts, _ *Host) {
				f.Engine.Name, f.Engine.Traits, f.Engine.Version = "podman", podman.Traits(), "4.3.1"
			}, nil,
		},
		"OddVersion": {
			"A version that cannot be read is not held against it.",
			func(f *Facts, _ *Host) { f.Engine.Version = "dev" }, nil,
		},
		"DevelopmentVersion": {
			"What is built without a release has no number to compare.",
			func(f *Facts, _ *Host) { f.Engine.Version = "0.0.0-20250101-abcdef" }, nil,
		},
		"CgroupV1": {
			"A current kubelet refuses it; nodes are adapted.",
			func(f *Facts, _ *Host) { f.Engine.CgroupVersion = "1" }, []string{"CgroupVersion warning"},
		},
		"CgroupV1OldKubernetes": {
			"Kubernetes 1.34 does not mind.",
			func(f *Facts, _ *Host) { f.Engine.CgroupVersion, f.KubernetesMinor = "1", 34 }, nil,
		},
		"CgroupV1Rootless": {
			"Rootless needs cgroup v2.",
			func(f *Facts, h *Host) {
				f.Engine.CgroupVersion, f.Engine.Rootless = "1", true
				h.HasCgroupControllers = false
			}, []string{"CgroupVersion error", "UserNamespace warning"},
		},
		"NotDelegated": {
			"Rootless without delegation limits nothing.",
			func(f *Facts, h *Host) {
				f.Engine.Rootless, h.CgroupControllers = true, []string{"memory", "pids"}
			}, []string{"CgroupDelegation error", "UserNamespace warning"},
		},
		"NoCgroupDriver": {
			"Docker says so itself, before anything is probed.",
			func(f *Facts, _ *Host) {
				f.Engine.Rootless, f.Engine.CgroupDriver, f.Host = true, "none", nil
			}, []string{"CgroupDelegation error", "UserNamespace warning"},
		},
		"NoMemoryController": {
			"Some kernels disable it by default.",
			func(_ *Facts, h *Host) { h.CgroupControllers = []string{"cpu", "pids"} }, []string{"CgroupControllers error"},
		},
		"FewUserIDs": {
			"Files of the user ID 65534 cannot be unpacked.",
			func(f *Facts, h *Host) { f.Engine.Rootless, h.UserIDs = true, 1 }, []string{"UserIDs error", "UserNamespace warning"},
		},
		"SlowStorageDriver": {
			"It works, and takes its time.",
			func(f *Facts, _ *Host) { f.Engine.StorageDriver = "vfs" }, []string{"StorageDriver warning"},
		},
		"IPv6OnOldDocker": {
			"Nodes do not reach IPv6 addresses elsewhere, and nothing says so.",
			func(f *Facts, _ *Host) { f.Engine.Version, f.IPv6 = "20.10.24+dfsg1", true },
			[]string{"IPv6NAT warning"},
		},
		"IPv4OnOldDocker": {
			"Who has no IPv6 does not miss it.",
			func(f *Facts, _ *Host) { f.Engine.Version = "26.1.5" }, nil,
		},
		"IPv6OnDocker": {
			"It has NAT for IPv6 by default.",
			func(f *Facts, _ *Host) { f.Engine.Version, f.IPv6 = "27.0.3", true }, nil,
		},
		"IPv6WithoutKernel": {
			"One item says it.",
			func(f *Facts, h *Host) { f.Engine.Version, f.IPv6, h.IPv6 = "20.10.24", true, 0 }, []string{"IPv6 warning"},
		},
		"Kernel": {
			"What the default cluster does not need is a warning.",
			func(_ *Facts, h *Host) { h.BridgeNetfilter, h.IPv6 = 0, 0 },
			[]string{"BridgeNetfilter warning", "IPv6 warning"},
		},
		"FewProcesses": {
			"32768 is enough for sixteen nodes.",
			func(f *Facts, h *Host) { f.Nodes, h.PidMax = 16, 32768 }, nil,
		},
		"ProcessesAreClose": {
			"And not for twenty with workload.",
			func(f *Facts, h *Host) { f.Nodes, h.PidMax, h.ThreadsMax = 20, 32768, 1000 },
			[]string{"Threads error", "Processes warning"},
		},
		"ProcessesOfRoot": {
			"RLIMIT_NPROC does not bind root.",
			func(f *Facts, h *Host) { f.Nodes, h.Processes = 2, 1000 }, nil,
		},
		"ProcessesOfUser": {
			"It does bind the root of a user namespace.",
			func(f *Facts, h *Host) { f.Nodes, h.Processes, f.Engine.Rootless = 2, 1000, true },
			[]string{"UserNamespace warning", "UserProcesses warning"},
		},
		"ClockBehind": {
			"Seconds do no harm and are a warning.",
			func(f *Facts, _ *Host) { f.Engine.Time = f.Engine.Time.Add(-20 * time.Second) }, []string{"Clock warning"},
		},
		"ClockAhead": {
			"Certificates are not valid yet.",
			func(f *Facts, _ *Host) { f.Engine.Time = f.Engine.Time.Add(10 * time.Minute) }, []string{"Clock error"},
		},
		"ClockRounded": {
			"An engine may round its answer.",
			func(f *Facts, _ *Host) { f.Engine.Time = f.Engine.Time.Add(-2 * time.Second) }, nil,
		},
		"ClockUnknown": {
			"What is not known is not judged.",
			func(f *Facts, _ *Host) { f.Engine.Time = time.Time{} }, nil,
		},
		"Rootless": {
			"Works, with a warning.",
			func(f *Facts, _ *Host) { f.Engine.Rootless = true }, []string{"UserNamespace warning"},
		},
		"Remapped": {
			"Nodes cannot be remapped, which is a warning.",
			func(f *Facts, _ *Host) { f.Engine.UserNamespaceRemap = true }, []string{"UserNamespace warning"},
		},
		"SELinux": {
			"What else uses the socket has to be distinguished.",
			func(f *Facts, _ *Host) { f.Engine.SELinux = true }, []string{"SELinux warning"},
		},
		"SmallHost": {
			"It works, slowly.",
			func(f *Facts, _ *Host) { f.Engine.CPUs, f.Engine.MemoryBytes = 1, gibibyte }, []string{"CPUs warning", "Memory warning"},
		},
		"Privileged": {
			"Without privileged containers there are no nodes.",
			func(_ *Facts, h *Host) { h.PrivilegedError = errors.New("unable to apply caps") }, []string{"PrivilegedContainer error"},
		},
		"InotifyOfOneNode": {
			"128 is enough for one node and what else there is.",
			func(_ *Facts, h *Host) { h.InotifyInstances = 128 }, nil,
		},
		"InotifyIsClose": {
			"128 is enough for three nodes alone.",
			func(f *Facts, h *Host) { f.Nodes, h.InotifyInstances = 3, 128 }, []string{"InotifyInstances warning"},
		},
		"InotifyIsUsedUp": {
			"128 is not enough for twelve nodes, 8192 watches are not if they have workload.",
			func(f *Facts, h *Host) { f.Nodes, h.InotifyInstances, h.InotifyWatches = 12, 128, 8192 },
			[]string{"InotifyInstances error", "InotifyWatches warning"},
		},
		"StorageFull": {
			"Images cannot be loaded.",
			func(_ *Facts, h *Host) { h.StorageFreeBytes = gibibyte }, []string{"Storage error"},
		},
		"StorageForMore": {
			"Nodes that are there have taken what they need.",
			func(f *Facts, h *Host) {
				f.Nodes, f.Existing = 20, 18
				h.StorageFreeBytes = 5 * gibibyte
			}, nil,
		},
		"StorageInodes": {
			"Nodes are many files.",
			func(_ *Facts, h *Host) { h.StorageFreeInodes = 1000 }, []string{"Storage warning"},
		},
		"SysResource": {
			"Nodes are adapted to it.",
			func(_ *Facts, h *Host) { h.Capabilities = 0x1fffeffffff }, []string{"CapabilitySysResource warning"},
		},
		"Capabilities": {
			"Nothing replaces CAP_SYS_ADMIN; errors come first.",
			func(_ *Facts, h *Host) { h.Capabilities = 0xa80425fb }, []string{"Capabilities error", "CapabilitySysResource warning"},
		},
		"OpenFiles": {
			"Where the limit can be raised, it is.",
			func(_ *Facts, h *Host) { h.OpenFiles = 1024 }, []string{"OpenFiles warning"},
		},
		"OpenFilesFixed": {
			"Where it cannot, the load balancer does not start.",
			func(_ *Facts, h *Host) { h.OpenFiles, h.Capabilities = 4096, 0x1fffeffffff },
			[]string{"OpenFiles error", "CapabilitySysResource warning"},
		},
		"OpenFilesRootless": {
			"Nor can a rootless engine, whatever its capabilities are called.",
			func(f *Facts, h *Host) { f.Engine.Rootless, h.OpenFiles = true, 4096 },
			[]string{"OpenFiles error", "UserNamespace warning"},
		},
		"OpenFilesRestricted": {
			"20000 is enough.",
			func(_ *Facts, h *Host) { h.OpenFiles, h.Capabilities = 20000, 0x1fffeffffff }, []string{"CapabilitySysResource warning"},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			info, host := good()
			now := time.Now()
			facts := Facts{Engine: info, Host: &host, KubernetesMinor: 36, Asked: now, Answered: now.Add(time.Second)}
			facts.Engine.Time = now
			tc.change(&facts, &host)
			items := Check(facts)
			var got []string
			failed := false
			for _, item := range items {
				got = append(got, item.Name+" "+string(item.Severity))
				failed = failed || item.Severity == SeverityError
				if item.Message == "" || item.Remedy == "" {
					t.Errorf("%s\n%s lacks message or remedy: %+v", tc.reason, item.Name, item)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\nCheck: -want +got:\n%s", tc.reason, diff)
			}
			if Failed(items) != failed {
				t.Errorf("%s\nFailed = %t", tc.reason, Failed(items))
			}
		})
	}
}

func TestSummary(t *testing.T) {
	t.Parallel()
	if got := Summary(nil); got != "" {
		t.Errorf("Summary of nothing = %q", got)
	}
	info, host := good()
	host.InotifyInstances, host.Capabilities = 8, 0x1fffeffffff
	host.StorageFreeBytes = 0
	facts := Facts{Engine: info, Host: &host}
	want := "InotifyInstances (error): fs.inotify.max_user_instances is 8, one node would need about 32 in addition to other processes of the host; " +
		"on the engine's host: sudo sysctl -w fs.inotify.max_user_instances=512, and persist it in /etc/sysctl.d | " +
		"Storage (error): the engine's storage has 0.0 GiB free, one node would need about 1.5 GiB; " +
		"free disk space (see \"docker system df\" or \"podman system df\"), or move the engine's storage to a larger disk | " +
		"CapabilitySysResource (warning): privileged containers lack CAP_SYS_RESOURCE; nodes are configured not to protect processes from the OOM killer; " +
		"grant it to the engine, which may run in a container or sandbox that drops it, if workloads need it"
	if diff := cmp.Diff(want, Summary(Check(facts))); diff != "" {
		t.Errorf("Summary: -want +got:\n%s", diff)
	}
	multiline := Summary([]Item{{Name: "A", Severity: SeverityError, Message: "one\ntwo", Remedy: "three"}})
	if strings.Contains(multiline, "\n") {
		t.Errorf("Summary spans lines: %q", multiline)
	}
}
