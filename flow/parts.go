//go:build !mistakes

package flow

// The parts of the machine. A build with the tag "mistakes" has other types of
// these names: see mistakes.go.
type (
	claimPart  = claim
	outboxPart = outbox
	gatePart   = gate
)
