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

package serviceloadbalancer

import cloudprovider "k8s.io/cloud-provider"

// providerName is how this provider calls itself as a cloud.
const providerName = "container"

// cloud is a cloud that has load balancers and nothing else.
type cloud struct {
	balancers *balancers
}

var _ cloudprovider.Interface = cloud{}

// Initialize implements cloudprovider.Interface.
func (cloud) Initialize(cloudprovider.ControllerClientBuilder, <-chan struct{}) {}

// LoadBalancer implements cloudprovider.Interface.
func (c cloud) LoadBalancer() (cloudprovider.LoadBalancer, bool) { return c.balancers, true }

// Instances implements cloudprovider.Interface.
func (cloud) Instances() (cloudprovider.Instances, bool) { return nil, false }

// InstancesV2 implements cloudprovider.Interface.
func (cloud) InstancesV2() (cloudprovider.InstancesV2, bool) { return nil, false }

// Zones implements cloudprovider.Interface.
func (cloud) Zones() (cloudprovider.Zones, bool) { return nil, false }

// Clusters implements cloudprovider.Interface.
func (cloud) Clusters() (cloudprovider.Clusters, bool) { return nil, false }

// Routes implements cloudprovider.Interface.
func (cloud) Routes() (cloudprovider.Routes, bool) { return nil, false }

// ProviderName implements cloudprovider.Interface.
func (cloud) ProviderName() string { return providerName }

// HasClusterID implements cloudprovider.Interface.
func (cloud) HasClusterID() bool { return true }
