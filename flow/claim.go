package flow

import (
	"slices"

	"weir/window"
)

// A claim is the part of the plans that the ledger must know before the log is
// read: the epochs that they open. See [window.Plan.Opens]. That is one write
// when a job, a partition or a topic is new, and none at other times.
type claim struct{ plans []window.Plan }

// needed reports whether a plan opens an epoch. The operators' first Take after
// Start has the lines that say so.
func (c *claim) needed() bool {
	return slices.ContainsFunc(c.plans, func(p window.Plan) bool { return p.Opens })
}
