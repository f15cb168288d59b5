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

package userdata

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestUnitStates(t *testing.T) {
	t.Parallel()
	units := []Unit{
		{Name: "a.service", Enabled: SwitchOn, Content: []byte("[Unit]\n")},
		{Name: "b.mount", Enabled: SwitchOn},
		{Name: "a.service", Enabled: SwitchOff, DropIns: []DropIn{{Name: "1.conf", Content: []byte("[Service]\n")}, {Name: "2.conf"}}},
		{Name: "b.mount", Mask: true},
		{Name: "c@x.timer", Enabled: SwitchOff},
	}
	want := []UnitState{
		{Step: "systemd.units[0]", Name: "a.service", Enabled: SwitchOn, Changed: true},
		{Step: "systemd.units[1]", Name: "b.mount", Enabled: SwitchOn, Masked: true},
		{Step: "systemd.units[4]", Name: "c@x.timer", Enabled: SwitchOff},
	}
	states := UnitStates(units)
	if !states[0].Starts() || states[1].Starts() || states[2].Starts() {
		t.Errorf("a unit starts that is enabled and not masked: %+v", states)
	}
	if diff := cmp.Diff(want, states); diff != "" {
		t.Errorf("the first that says whether a unit is enabled counts, a mask wins (-want +got):\n%s", diff)
	}
	files := append(units[0].Files(), units[2].Files()...)
	if len(files) != 2 || files[0].Path != "/etc/systemd/system/a.service" || files[1].Path != "/etc/systemd/system/a.service.d/1.conf" {
		t.Errorf("units and drop-ins without contents are left out: %+v", files)
	}
}
