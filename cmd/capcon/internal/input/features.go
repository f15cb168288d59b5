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

package input

import (
	"sigs.k8s.io/cluster-api/feature"
)

// checkFeatureGates of Cluster API, which the management plane would refuse when it starts.
func checkFeatureGates(gates string) []Problem {
	const remedy = "use names of Cluster API's feature gates with true or false, such as RuntimeSDK=true,InPlaceUpdates=true"
	chosen := feature.MutableGates.DeepCopy()
	if err := chosen.Set(gates); err != nil {
		return []Problem{{"--feature-gates", gates, err.Error(), remedy}}
	}
	if chosen.Enabled(feature.InPlaceUpdates) && !chosen.Enabled(feature.RuntimeSDK) {
		return []Problem{{"--feature-gates", gates, "InPlaceUpdates needs RuntimeSDK", remedy}}
	}
	return nil
}
