// Package gen makes traffic whose exact answers are known: clicks and positions
// of people, the same for the same Config, at any speed.
//
//	cfg := gen.Default()
//	cfg.Start, cfg.Rate, cfg.Events = start, 10_000, 1_000_000
//	g, err := gen.Clicks(cfg)
//	...
//	truth := gen.NewTruth(gen.Rules{Window: 60_000, Lateness: 86_400_000, Skew: 600_000})
//	var r gen.Record
//	for g.Next(&r) {
//		produce(r.Key, r.Value, r.Time) // as key, value and CreateTime
//		truth.Add(&r)
//	}
//	truth.Write(file)
//
// The package reads no clock: event i has the record time Start + i/Rate, and
// its own time follows from that. All random draws are made with integers from
// the seed, so that a stream does not depend on how a machine rounds.
//
// The truth is counted with maps, from the generator's own data. It shares
// nothing with the code that it checks: not the window core, not the sketches,
// not the JSON scanner.
package gen
