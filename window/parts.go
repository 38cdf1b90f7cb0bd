//go:build !mistakes

package window

// partitionState is the type of an Operator's partitions. A build with the tag
// "mistakes" has another type of this name: see mistakes.go.
type partitionState = Partition
