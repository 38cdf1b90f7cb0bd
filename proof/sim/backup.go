package sim

import (
	"maps"
	"slices"

	"weir/window"
)

// A backup is what a sink held at some step, as on its disk. After a power loss, or when its disk goes
// back to a snapshot, the sink has that again and has forgotten what it acknowledged since.
type backup struct {
	rows   []storedRow
	states [][]byte // by row and measure
	slots  map[window.Slot]uint64
	places map[placeKey]place
	dead   map[deadKey]window.DeadLetter
	ledger map[partitionEpoch][]window.Line
	opened uint64
	done   [2]uint64
	long   []uint64 // what the rows of the second level have rolled
}

func (k *sink) save() *backup {
	b := &backup{
		slots: maps.Clone(k.slots), places: maps.Clone(k.places), dead: maps.Clone(k.dead), ledger: map[partitionEpoch][]window.Line{},
		opened: k.rolled.opened, done: k.rolled.done,
	}
	for _, row := range k.rows {
		row.hits, row.acked = slices.Clone(row.hits), slices.Clone(row.acked)
		b.rows = append(b.rows, row)
		for m, keeper := range k.states.of {
			if keeper != nil {
				b.states = append(b.states, k.states.bytes(nil, row.state, m))
			}
		}
	}
	for key, lines := range k.ledger {
		b.ledger[key] = slices.Clone(lines)
	}
	for _, l := range k.rolled.long {
		b.long = append(b.long, l.rolled)
	}
	return b
}

// restore makes the sink hold what b has. Connections break: what was under way is lost, and no writer
// of it gets an answer.
func (s *schedule) restore(b *backup) {
	k := newSink(s)
	k.down, k.up, k.restarts, k.tokens = s.sink.down, s.sink.up, s.sink.restarts+1, s.sink.tokens
	k.slots, k.places, k.dead, k.ledger = b.slots, b.places, b.dead, b.ledger
	for n, row := range b.rows {
		row.state = k.states.add()
		k.rows = append(k.rows, row)
		k.index[row.key] = n
		k.entered(n)
		for m, keeper := range k.states.of {
			if keeper == nil {
				continue
			}
			if err := k.states.merge(row.state, m, b.states[0]); err != nil {
				s.fail("state of measure %s: %v", s.spec.Measures[m].Name, err)
			}
			b.states = b.states[1:]
		}
	}
	k.rolled.opened, k.rolled.done = b.opened, b.done
	for n, rolled := range b.long {
		k.rolled.long[n].rolled = rolled
	}
	s.sink = k
	for _, i := range s.network.sent {
		i.land, i.err = never, errLost
		if i.run != nil {
			i.answer = min(i.answer, s.step+1)
		}
	}
	for _, m := range s.members {
		m.roller.end()
		m.roller.current.Falls++ // the process knows that the sink was started again
	}
	s.mix.count[Restore]++
	s.tracef("the sink goes back")
	for key, t := range s.counted { // what the log has not any more is gone
		p := t.parts[key.partition]
		_, next := k.reach(key)
		switch {
		case t != s.topic:
			p.taint(next/s.spec.Chunk, p.end()/s.spec.Chunk)
		case next < p.start:
			p.taint(next/s.spec.Chunk, p.start/s.spec.Chunk)
		}
	}
}
