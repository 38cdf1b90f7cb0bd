package audit

import "weir/event"

// Watermarks finds the event time that every partition of a log has passed. It finds out
// itself for how long a partition has been silent, from the time between its looks. The
// times of the ledger lines do not say: a server's clock may step, and the clocks of
// replicas may differ. Its zero value is ready to use.
type Watermarks struct {
	still stills
}

// idleAfter is how long a partition must have been silent, while others were
// not, to count as idle.
const idleAfter event.Time = 60_000

// Look returns the event time that every partition of the log has passed; 0 if that is
// not known. It is at most the sink's time, for clocks of producers may be fast. log is what each
// partition holds now, and since is the time since the last
// Look, in ms. A window that ends no later is complete; late events can still be added to
// it.
//
// A partition is left out if the ledger covers its log to the end and either no event
// of it was counted, or it is idle: there was no flush of it for a minute longer than of
// another partition. The first Look finds none idle. A partition with an open transaction
// is not left out, because records after the transaction's first one wait with it.
func (w *Watermarks) Look(c *Coverage, log map[int32]event.Span, since event.Time) (slowest event.Time) {
	before := w.still
	w.still = stills{}
	var shortest event.Time // silence of a partition
	for p := range log {
		at, ok := c.Partitions[p]
		if !ok {
			continue
		}
		s := before.look(p, at, since)
		if len(w.still) == 0 || s.stood < shortest {
			shortest = s.stood
		}
		w.still[p] = s
	}
	for p, s := range log {
		at := c.Partitions[p]
		idle := w.still[p].stood > shortest+idleAfter
		if c.whole(p, s) && (idle || at.Watermark == 0 && !at.Ahead) {
			continue
		}
		if at.Watermark == 0 {
			return 0
		}
		if slowest == 0 || at.Watermark < slowest {
			slowest = at.Watermark
		}
	}
	return min(slowest, c.Now)
}
