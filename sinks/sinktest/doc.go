// Package sinktest tests what exactly-once counting needs of a sink: what is stored is
// the merge of everything that was written, in whatever order, in whatever portions and
// however often; the ledger tells a restarted process where to continue; and the audit
// finds damage.
//
//	func TestConformance(t *testing.T) {
//		sinktest.Run(t, func(t *testing.T) sinktest.Backend { return … })
//	}
//
// RunLive tests what serve/live needs of a sink: what was written can be read back.
//
// Both suites make what they write with package window, and compare what they read back
// with what sinks/memory has after one undisturbed pass.
package sinktest
