//go:build !mistakes

package flow

// What the machine is made of. A build with the tag "mistakes" has other types
// by these names: see mistakes.go.
type (
	claimPart  = claim
	outboxPart = outbox
	gatePart   = gate
)
