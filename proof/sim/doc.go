// Package sim tests weir's claim. It runs weir's own core (window.Spec.Resume,
// window.Operator, window.Changes, flow.Machine, rounds.Advance, audit.Audit and the
// sketches) in up to three simulated processes, with a log and a sink that fail in every
// way of the failure model, and compares the sink's contents at the end with a
// reference built straight from the log.
//
//	r := sim.Run(42, sim.Options{})
//	if r.Failed() { fmt.Println(r.Problems, sim.Shrink(r)) }
//
// One number, the seed, decides everything: the log's content, the job's spec,
// which kinds of fault are on and how often they happen (swarm testing: each seed
// switches off a random subset), and what happens at each step. A run reads
// no clock, and of its goroutines (one, and one for each rollup that is under way) one
// at a time runs, as the seed says. So the same seed gives the same [Result.Digest]
// on every machine.
//
// The simulation covers everything around the core: Kafka's log, the consumer
// group, the network, ClickHouse as a table that merges, and a process that does
// what package flow says. A [Mistake] plants an error there or in the core; a run
// with one must fail, otherwise the simulator proves nothing.
//
// Files:
//
//	campaign.go   many seeds
//	shrink.go     a failure made small
//	controls.go   negative controls; planted.go: how mistakes get into the core
//	schedule.go   one run: the steps, healing, draining
//	strike.go     what happens to processes, the group and the log, and when
//	backup.go     what a sink has after its disk went back
//	member.go     a process: it fetches, counts, and does what flow says
//	rollup.go     rollups and views
//	group.go      ownership and committed offsets
//	oracle.go     the comparison in the end
//	sink.go       the store
//	network.go    requests, and what becomes of them
//	mistakes.go   what is planted on purpose
//	measure.go    states of measures, merged naively
//	reference.go  what the log says should be there
//	result.go     what came of a run, and what is checked while it goes on
//	log.go        partitions, records, retention, transactions, new topics
//	faults.go     the kinds of fault, and the mix a seed draws
package sim
