module github.com/capi-samples/cluster-api-provider-container

go 1.26.0

require (
	github.com/docker/docker v28.5.2+incompatible
	github.com/google/go-cmp v0.7.0
	k8s.io/api v0.36.3
	k8s.io/apimachinery v0.36.3
	k8s.io/client-go v0.36.3
	sigs.k8s.io/cluster-api v1.14.2
	sigs.k8s.io/cluster-api/api v1.14.2
	sigs.k8s.io/controller-runtime v0.24.1
)
