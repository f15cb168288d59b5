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

package inputs

import "fmt"

const notAllowed = `is not allowed in namespace "default" by the manager's flag --allowed-engine-endpoints; ask the administrator of the management cluster to add it`

// AllowedEndpoints are the patterns that the webhooks of a test have.
func AllowedEndpoints() []string {
	return []string{"tcp://*.example.org", "ssh://*.example.org", "tcp://127.0.0.1:*", "other=tcp://10.0.0.0/8"}
}

func badEngines() map[string]Input {
	const (
		at, credentials = "spec.endpoint", "credentialsSecretName: a"
		noScheme        = "has a scheme that objects cannot have; use tcp://HOST:PORT, or ssh://USER@HOST. The engine whose socket the manager has needs no object"
	)
	engine := func(endpoint, more string) string {
		return `spec: {endpoint: "` + endpoint + `", ` + credentials + more + `}`
	}
	const (
		good   = "tcp://a.example.org"
		noName = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character " +
			"(e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
	)
	return map[string]Input{
		"EngineSocket":   {"It would be the host of the manager.", containerEngine, engine("unix:///var/run/docker.sock", ""), at, noScheme},
		"EngineNoTLS":    {"Who reaches an engine is root on its host.", containerEngine, engine("http://a.example.org", ""), at, noScheme},
		"EnginePassword": {"It would be read by each user who reads the object.", containerEngine, engine("ssh://me:secret@a.example.org", ""), at, "has a password; put a key into the Secret of the engine"},
		"EngineNoUser":   {"There is none by default.", containerEngine, engine("ssh://a.example.org", ""), at, "has no user; use ssh://USER@HOST"},
		"EngineNotAllowed": {
			"The manager would reach what the user does not.", containerEngine, engine("tcp://169.254.169.254:80", ""), at, notAllowed,
		},
		"EngineOfOtherNamespace": {"What one team may use, others may not.", containerEngine, engine("tcp://10.1.2.3", ""), at, notAllowed},
		"EngineOnLoopback": {
			"Its ports are not reached by that.", containerEngine, engine("tcp://127.0.0.1:2376", ""), "spec.advertiseAddress",
			"must be set if the host of the endpoint is a loopback address: nodes and users do not reach the engine's host by it",
		},
		"EngineSecret": {
			"It is no name of an object.", containerEngine, `spec: {endpoint: "` + good + `", credentialsSecretName: "A_"}`, "spec.credentialsSecretName", noName,
		},
		"EngineName":               {"It is no name of an object.", cluster, `spec: {engineName: A_}`, "spec.engineName", noName},
		"EngineNameOfTemplate":     {"Nor for the clusters of a class.", clusterTemplate, `spec: {template: {spec: {engineName: A_}}}`, "spec.template.spec.engineName", noName},
		"EngineAdvertisesLoopback": {"It is another host for each client.", containerEngine, engine(good, ", advertiseAddress: 127.0.0.1"), "spec.advertiseAddress", nowhere},
		"EngineAdvertisesPort":     {"The port is chosen for each cluster.", containerEngine, engine(good, `, advertiseAddress: "a.example.org:6443"`), "spec.advertiseAddress", notOnlyHost},
		"EngineFailureDomain":      {"It is a label of Nodes.", containerEngine, engine(good, `, failureDomain: "a b"`), "spec.failureDomain", noLabel},
		"EngineCPU":                {"There is nothing less than nothing.", containerEngine, engine(good, `, capacity: {cpu: "-1"}`), "spec.capacity.cpu", "must not be negative"},
		"EngineReservation":        {"It would make room.", cluster, `spec: {engineReservation: {cpu: "-1"}}`, "spec.engineReservation.cpu", "must not be negative"},
		"EngineReservationOfClass": {"Nor for the clusters of a class.", clusterTemplate, `spec: {template: {spec: {engineReservation: {memory: -1Gi}}}}`, "spec.template.spec.engineReservation.memory", "must not be negative"},
		"EngineReserved":           {"It would make room.", containerEngine, engine(good, `, reservations: [{clusterName: a, cpu: "-1", memory: 1Gi}]`), "spec.reservations[0].cpu", "must not be negative"},
		"EngineSelector":           {"It selects nothing.", cluster, `spec: {engineSelector: {matchExpressions: [{key: zone, operator: In}]}}`, "spec.engineSelector.matchExpressions[0].values", "must be specified when `operator` is 'In' or 'NotIn'"},
		"EngineSelectorOfClass":    {"Nor for the clusters of a class.", clusterTemplate, `spec: {template: {spec: {engineSelector: {matchExpressions: [{key: zone, operator: In}]}}}}`, "spec.template.spec.engineSelector.matchExpressions[0].values", "must be specified when `operator` is 'In' or 'NotIn'"},
		"EngineDefault":            {"It would make room.", containerEngine, engine(good, `, capacity: {workers: {memory: -1Gi}}`), "spec.capacity.workers.memory", "must not be negative"},
	}
}

func engineChanges() map[string]Change {
	const immutable = "is immutable once the cluster may have containers (%q): they are on that engine; restore the value, or create another cluster"
	on := func(name string) string { return fmt.Sprintf(immutable, name) }
	const recorded = `metadata: {annotations: {container.infrastructure.cluster.x-k8s.io/engine-storage-id: a}}
spec: {engineName: %s, ownerID: abc}`
	return map[string]Change{
		"EngineChosen": {Reason: "Nothing is anywhere yet.", Kind: cluster, Before: `spec: {engineName: first}`, After: `spec: {engineName: second}`},
		"EngineChosenFor": {Reason: "The provider writes its choice.", Kind: cluster, Before: `spec: {engineSelector: {matchLabels: {zone: a}}}`,
			After: `spec: {engineName: first, engineReservation: {cpu: "2"}, engineSelector: {matchLabels: {zone: a}}}`},
		"EngineReserved": {Reason: "It is done before the cluster is there.", Kind: containerEngine,
			Before: `spec: {endpoint: "tcp://a.example.org", credentialsSecretName: a}`,
			After:  `spec: {endpoint: "tcp://a.example.org", credentialsSecretName: a, reservations: [{clusterName: a, cpu: "2", memory: 2Gi}]}`},
		"EngineIndebted": {Reason: "The provider records what was left.", Kind: containerEngine,
			Before: `spec: {endpoint: "tcp://a.example.org", credentialsSecretName: a, lost: true}`,
			After:  `spec: {endpoint: "tcp://a.example.org", credentialsSecretName: a, lost: true, debts: [{name: id, ownerID: id, clusterName: a, networkName: capcon, volumeRetained: true}]}`},
		"EngineBack": {Reason: "Its debts are still to be paid.", Kind: containerEngine,
			Before: `spec: {endpoint: "tcp://a.example.org", credentialsSecretName: a, lost: true, debts: [{name: id, containers: [b]}]}`,
			After:  `spec: {endpoint: "tcp://a.example.org", credentialsSecretName: a, debts: [{name: id, containers: [b]}]}`},
		"EnginePaid": {Reason: "The provider, or who knows that nothing is left.", Kind: containerEngine,
			Before: `spec: {endpoint: "tcp://a.example.org", credentialsSecretName: a, debts: [{name: id, containers: [b]}]}`,
			After:  `spec: {endpoint: "tcp://a.example.org", credentialsSecretName: a}`},
		"EngineIndebtedWhileUsed": {Reason: "Objects that are deleted remove what they have.", Kind: containerEngine,
			Before: `spec: {endpoint: "tcp://a.example.org", credentialsSecretName: a, debts: [{name: id, containers: [b]}]}`,
			After:  `spec: {endpoint: "tcp://a.example.org", credentialsSecretName: a, debts: [{name: id, containers: [b, c]}]}`,
			Field:  "spec.debts[0]", Message: "is recorded by the provider while spec.lost is true, and may only be removed otherwise"},
		"EngineAgain": {Reason: "It stays where it is.", Kind: cluster, Before: fmt.Sprintf(recorded, "first"), After: fmt.Sprintf(recorded, "first")},
		"EngineOfRecorded": {Reason: "Something may be there.", Kind: cluster, Before: fmt.Sprintf(recorded, "first"), After: fmt.Sprintf(recorded, "second"),
			Field: "spec.engineName", Message: on("first")},
		"EngineOfStarted": {Reason: "Its containers are on the manager's own engine.", Kind: cluster, Before: `spec: {loadBalancer: {hostPort: 32768}}`,
			After: `spec: {engineName: first, loadBalancer: {hostPort: 32768}}`, Field: "spec.engineName", Message: on("")},
		"EngineEndpointInSubnet": {Reason: "It is an address of the engine's host, and not of the network.", Kind: cluster,
			Before: `spec: {engineName: first, network: {name: a, subnet: 172.30.0.0/16}}`,
			After:  `spec: {engineName: first, network: {name: a, subnet: 172.30.0.0/16}, controlPlaneEndpoint: {host: 10.0.0.7, port: 32768}, loadBalancer: {hostPort: 32768, hostAddress: 0.0.0.0}}`},
		"EngineEndpoint": {Reason: "A host may get another name: the identity of the engine is checked.", Kind: containerEngine,
			Before: `spec: {endpoint: "tcp://a.example.org", credentialsSecretName: a}`, After: `spec: {endpoint: "tcp://b.example.org", credentialsSecretName: b, maintenance: true}`},
		"EngineEndpointNotAllowed": {Reason: "The manager would dial it.", Kind: containerEngine,
			Before: `spec: {endpoint: "tcp://a.example.org", credentialsSecretName: a}`, After: `spec: {endpoint: "tcp://b.example.com", credentialsSecretName: a}`,
			Field: "spec.endpoint", Message: notAllowed},
	}
}
