// Package flow is the order in which the counts of a process become durable:
// claim, flush, retry, commit, memory gate, drain. It is a state machine
// without clock, goroutine, channel, lock or I/O, in the manner of etcd raft's
// RawNode: inputs tell the [Machine] what happened, [Machine.Ready] says what
// to do now, and the driver does that.
//
//	m := flow.New(config, plans, now)
//	for rd := m.Ready(now); !rd.Phase.Ended(); rd = m.Ready(now) {
//		if rd.Insert != nil { … } // answered later: m.Inserted(round), or m.Answered(now, answer)
//		if rd.Write != nil  { … } // answered later: m.Answered(now, answer)
//		if rd.Take          { …; m.Taken(changes...) }
//		if rd.Commit != nil { …; m.Committed(now, err == nil) }
//		if rd.Phase == flow.Reading { … } // read the log
//		// Then wait: for the answer, for the time to be rd.Wake, for memory to
//		// fill (m.Held), for the partitions to go (m.Leave).
//	}
//
// Package jobs drives it with goroutines, timers and contexts, package sim with
// simulated processes. So the code that is simulated is the code that runs.
//
// A machine lives as long as its process has the partitions, and passes through
// these phases:
//
//	Claiming ──► Reading ──► Draining ──► Drained
//	    │                       ├───────► GaveUp    the time for it was over
//	    └───────────────────────┴───────► Refused   the sink will never take it
//
// Flushes come at the multiples of an interval, which is longer while the process is behind
// ([Machine.Behind]), and early if memory is nearly used up.
//
// The order of a flush is: take the workers' changes; write them; when they are
// durable, commit the positions that they reach. One write is in flight at a
// time. A write whose result is unknown is merged into the next one. While the process keeps up
// with the log, a flush only inserts rows, for people to see, until [Config.Ledger] is over: then
// one write makes the rows of all of these flushes durable.
//
// Files:
//
//	machine.go  inputs, and Ready: the whole order, one decision a paragraph
//	outbox.go   what was taken, what is in flight, what may be committed
//	claim.go    partitions that the ledger must know before they are read
//	gate.go     the memory budget
//
// testdata/*.txt are transcripts: inputs, and under each all that Ready says.
package flow
