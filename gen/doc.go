// Package gen makes traffic of which the exact answers are known: clicks and
// positions of people, the same ones for the same Config, at any speed.
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
//	truth.WriteTo(file)
//
// Nothing here looks at a clock: event i has the record time Start + i/Rate,
// and what it says about its own time follows from that. All draws are made
// with integers from the seed, so that a stream does not depend on how a
// machine rounds.
//
// The truth is counted with maps from what the generator meant, and shares
// nothing with the code it is to judge: neither the window core, nor the
// sketches, nor the JSON scanner.
package gen
