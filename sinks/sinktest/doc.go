// Package sinktest holds every sink to what exactly-once counting asks of it:
// whatever is written, how often, in which order and in which portions, what is
// stored is the merge of it all; the ledger tells a restarted process where to
// go on; and damage shows in the audit.
//
//	func TestConformance(t *testing.T) {
//		sinktest.Run(t, func(t *testing.T) sinktest.Backend { return … })
//	}
//
// The suite builds what it writes with the product's own core, and compares
// what it reads back with what sinks/memory holds after one undisturbed pass.
package sinktest
