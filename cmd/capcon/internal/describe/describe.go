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

// Package describe shows a cluster as the tree of its objects and their
// conditions. Cluster API's own discovery finds the objects, so that the tree
// has what "clusterctl describe" has.
package describe

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/duration"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/cmd/clusterctl/client/tree"

	infrav1 "github.com/capi-samples/cluster-api-provider-container/api/v1beta2"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/management"
	"github.com/capi-samples/cluster-api-provider-container/cmd/capcon/internal/output"
)

// Node is one object of the tree.
type Node struct {
	Kind string `json:"kind"`
	Name string `json:"name"`
	// Role of the object within its parent, such as ClusterInfrastructure;
	// may be empty.
	Role string `json:"role,omitempty"`
	// Deleting says that the object is on its way out.
	Deleting bool `json:"deleting,omitempty"`
	// Conditions of the object, in its own order.
	Conditions []metav1.Condition `json:"conditions,omitempty"`
	// Children that belong to it.
	Children []Node `json:"children,omitempty"`
}

// Cluster reads the tree of a cluster.
func Cluster(ctx context.Context, c client.Client, namespace, name string) (Node, error) {
	discovered, err := tree.Discovery(ctx, c, namespace, name, tree.DiscoverOptions{Echo: true})
	if err != nil {
		return Node{}, fmt.Errorf("discover the objects of cluster %q: %w", name, err)
	}
	return convert(discovered, discovered.GetRoot()), nil
}

func convert(discovered *tree.ObjectTree, object client.Object) Node {
	node := Node{
		Kind:       object.GetObjectKind().GroupVersionKind().Kind,
		Name:       object.GetName(),
		Role:       tree.GetMetaName(object),
		Deleting:   !object.GetDeletionTimestamp().IsZero(),
		Conditions: tree.GetConditions(object),
	}
	children := slices.Clone(discovered.GetObjectsByParent(object.GetUID()))
	slices.SortFunc(children, func(a, b client.Object) int {
		// A higher z-order comes first.
		return cmp.Or(cmp.Compare(tree.GetZOrder(b), tree.GetZOrder(a)), cmp.Compare(a.GetName(), b.GetName()))
	})
	for _, child := range children {
		node.Children = append(node.Children, convert(discovered, child))
	}
	return node
}

// causes are the kinds whose conditions say what the others only repeat.
var causes = map[string]bool{
	"ContainerCluster": true,
	"ContainerMachine": true,
	"KubeadmConfig":    true,
}

// negative are conditions that are True when something is wrong.
var negative = map[string]bool{
	clusterv1.PausedCondition:          true,
	infrav1.StoppedCondition:           true,
	clusterv1.DeletingCondition:        true,
	clusterv1.RollingOutCondition:      true,
	clusterv1.ScalingUpCondition:       true,
	clusterv1.ScalingDownCondition:     true,
	clusterv1.RemediatingCondition:     true,
	clusterv1.MachineUpdatingCondition: true,
}

// Options of Print.
type Options struct {
	// Unavailable is why the cluster is not available. It is shown where the Cluster's own
	// summary does not say so yet, which follows the Nodes by some seconds; empty = it is right.
	Unavailable string
	// Now is what ages are measured from.
	Now time.Time
	// Columns that a line may have; 0 = any number.
	Columns int
	// All conditions are shown, also those that only repeat in the words of
	// one object what is wrong with another.
	All bool
	// paused says that an object above is paused.
	paused bool
}

// Print writes the tree: a line per object with its summary. Below those
// with causes, container and kubeadm configuration, there is a
// line for each condition that reports a problem. A Cluster that is paused is
// reported once.
func Print(w io.Writer, root Node, options Options) error {
	var aligned strings.Builder
	tree := rows(root, "", "", options)
	if whole := summary(root); options.Unavailable != "" && whole != nil && whole.Status == metav1.ConditionTrue {
		tree[0] = strings.Join([]string{root.Title(), string(metav1.ConditionFalse), "", "", options.Unavailable}, "\t")
	}
	table := output.Printer{Out: &aligned}
	if err := table.Table(append([]string{"NAME\tREADY\tREASON\tSINCE\tMESSAGE"}, tree...)); err != nil {
		return err
	}
	// The table pads the last column too, which wraps on narrow terminals.
	for line := range strings.Lines(aligned.String()) {
		if _, err := io.WriteString(w, output.Cut(strings.TrimRight(line, " \n"), options.Columns)+"\n"); err != nil {
			return fmt.Errorf("print tree: %w", err)
		}
	}
	return nil
}

// rows returns the lines of a node: first stands before its own, next before
// those of what is below it.
func rows(node Node, first, next string, options Options) []string {
	lines := []string{row(first+node.Title(), node.Summary(), options.Now)}
	pipe := "  "
	if len(node.Children) > 0 {
		pipe = "│ "
	}
	for _, condition := range shown(node, options) {
		lines = append(lines, row(next+pipe+"  "+condition.Type, &condition, options.Now))
	}
	options.paused = options.paused || meta.IsStatusConditionTrue(node.Conditions, clusterv1.PausedCondition)
	for i, child := range node.Children {
		if i == len(node.Children)-1 {
			lines = append(lines, rows(child, next+"└─", next+"  ", options)...)
			continue
		}
		lines = append(lines, rows(child, next+"├─", next+"│ ", options)...)
	}
	return lines
}

// shown are the conditions that get lines of their own. Those of the Cluster are what no other
// object says.
func shown(node Node, options Options) []metav1.Condition {
	problems := node.Problems()
	if options.All {
		return problems
	}
	return slices.DeleteFunc(problems, func(condition metav1.Condition) bool {
		switch {
		case node.Kind == clusterv1.ClusterKind && condition.Type == clusterv1.ClusterTopologyReconciledCondition:
			return condition.Reason == clusterv1.ClusterTopologyReconcilePausedReason
		case node.Kind == clusterv1.ClusterKind:
			return condition.Type != clusterv1.PausedCondition
		case condition.Type == clusterv1.PausedCondition:
			return options.paused || !causes[node.Kind]
		}
		return !causes[node.Kind]
	})
}

// Title is its kind, name and role.
func (n Node) Title() string {
	text := n.Kind + "/" + n.Name
	if n.Role != "" && n.Role != n.Kind {
		text = n.Role + " - " + text
	}
	if n.Deleting {
		text += " (deleting)"
	}
	return text
}

func row(name string, condition *metav1.Condition, now time.Time) string {
	if condition == nil {
		return name + "\t\t\t\t"
	}
	return strings.Join([]string{
		name,
		string(condition.Status),
		condition.Reason,
		duration.HumanDuration(max(now.Sub(condition.LastTransitionTime.Time), 0)), // Clocks of two hosts may differ.
		management.OneLine(condition.Message),
	}, "\t")
}

// Summary is the condition that stands for the object as a whole; nil where it has none. One without a
// message has that of the first condition which is not as it should be, such as NodeReady's of a Machine.
func (n Node) Summary() *metav1.Condition {
	whole := summary(n)
	if whole == nil || whole.Message != "" || whole.Status == metav1.ConditionTrue {
		return whole
	}
	for _, condition := range n.Problems() {
		if condition.Message != "" {
			other := *whole
			other.Message = condition.Message
			return &other
		}
	}
	return whole
}

// summary is the condition that stands for the object as a whole.
func summary(node Node) *metav1.Condition {
	for _, conditionType := range []string{clusterv1.AvailableCondition, clusterv1.ReadyCondition} {
		if condition := meta.FindStatusCondition(node.Conditions, conditionType); condition != nil {
			return condition
		}
	}
	return nil
}

// Problems are the conditions, other than the summary, that report a problem.
func (n Node) Problems() []metav1.Condition {
	whole := summary(n)
	var problems []metav1.Condition
	for _, condition := range n.Conditions {
		good := metav1.ConditionTrue
		if negative[condition.Type] {
			good = metav1.ConditionFalse
		}
		if condition.Status != good && (whole == nil || condition.Type != whole.Type) {
			problems = append(problems, condition)
		}
	}
	return problems
}
