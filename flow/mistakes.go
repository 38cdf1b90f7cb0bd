//go:build mistakes

package flow

import "weir/window"

// Planted names the mistake that machines make, for the negative controls of
// package sim. Set it only while no machine runs.
var Planted string

func planted(mistake string) bool { return mistake == Planted }

// The parts of a machine with mistakes; each embeds the correct part.
type (
	claimPart  struct{ claim }
	outboxPart struct{ outbox }
	gatePart   struct{ gate }
)

func (c *claimPart) needed() bool { return !planted("unclaimed") && c.claim.needed() }

func (o *outboxPart) begin() *window.Changes {
	c := o.outbox.begin()
	switch {
	case c == nil:
	case planted("commit-first"):
		o.reach(c.Next)
	case planted("reuse-in-flight"):
		o.spare = c.Table
	}
	return c
}

func (o *outboxPart) fail() {
	switch {
	case planted("drop-failed"):
		o.changes, o.flight = nil, false
	case planted("errors-ignored"):
		o.acknowledge()
	default:
		o.outbox.fail()
	}
}

func (o *outboxPart) empty() bool { return o.outbox.empty() || planted("flight-forgotten") && o.flight }

func (g *gatePart) close() {
	if !planted("gate-open") {
		g.gate.close()
	}
}

func (g *gatePart) open() {
	if !planted("gate-stuck") {
		g.gate.open()
	}
}
