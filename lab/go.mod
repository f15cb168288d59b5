module github.com/capi-samples/cluster-api-provider-container/lab

go 1.26.0

require (
	github.com/google/go-cmp v0.7.0
	golang.org/x/sync v0.22.0
)
