package sim

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"fmt"
	"iter"
	"maps"
	"slices"
	"strings"

	"weir/audit"
	"weir/event"
	"weir/window"
)

// judge compares the sink with the reference, after everything has settled.
func (s *schedule) judge() {
	exact := s.old == s.spec
	keys := slices.SortedFunc(maps.Keys(s.counted), func(a, b partitionEpoch) int {
		return cmp.Or(cmp.Compare(a.epoch, b.epoch), cmp.Compare(a.partition, b.partition))
	})
	for _, key := range keys {
		exact = exact && s.counted[key].parts[key.partition].sound()
	}
	f := newReference(s.spec, exact)
	for n, key := range keys {
		t := s.counted[key]
		for _, earlier := range keys[:n] {
			if earlier.partition == key.partition && s.counted[earlier] == t {
				s.fail("partition %d: one topic is counted under epochs %d and %d", key.partition, earlier.epoch, key.epoch)
			}
		}
		p := t.parts[key.partition]
		first, _ := s.sink.reach(key)
		if first > p.start || first > 0 && p.start == 0 {
			s.fail("partition %d (epoch %d): the ledger begins at %d, the log at %d", key.partition, key.epoch, first, p.start)
		}
		added := int64(0)
		if s.old != s.spec {
			added = p.end()
			if t == s.topic {
				added = s.added[key.partition]
			}
		}
		f.read(t, key, added)
		s.totals.Events += len(p.records)
	}
	s.judgeRollups()
	s.judgeRows(f)
	s.judgePlaces(f)
	s.judgeDead(f)
	s.judgeLedger(f)
	s.audit(f)
	s.finish(keys)
}

// judgeRows compares counts by slot, and the bytes of every state.
func (s *schedule) judgeRows(f *reference) {
	var key, got, want []byte
	found := 0
	for n := range f.rows {
		w := &f.rows[n]
		key = f.key(key[:0], w.rowKey)
		var row storedRow
		at, ok := s.sink.index[string(key)]
		if ok {
			row = s.sink.rows[at]
			found++
		}
		surely := false
		slots, least := 0, uint64(0)
		for _, b := range w.hits {
			count := uint64(0)
			if i := slices.IndexFunc(row.hits, func(h hit) bool { return h.slot == b.slot }); i >= 0 {
				count = row.hits[i].count
				slots++
			}
			if count < b.low || count > b.high {
				s.fail("row %s: slot %d/%d/%d counts %d, the log has %d to %d", name(key), b.slot.Epoch(), b.slot.Partition(), b.slot.Chunk(), count, b.low, b.high)
			}
			surely = surely || b.low > 0
			least += b.low
		}
		if row.sure < least { // and so the rollups have as many: see judgeRollups
			s.fail("row %s: %d events were acknowledged, the log has %d", name(key), row.sure, least)
		}
		if slots != len(row.hits) {
			s.fail("row %s: counts under %d slots, the log has %d", name(key), len(row.hits), len(w.hits))
		}
		if !ok {
			continue
		}
		for m := range s.spec.Measures {
			if s.spec.Measures[m].Kind.ByMember {
				continue
			}
			got = s.sink.states.bytes(got[:0], row.state, m)
			want = f.low.bytes(want[:0], uint32(n), m)
			switch {
			case bytes.Equal(got, want):
			case f.exact:
				s.fail("row %s: the state of %s is not that of the log", name(key), s.spec.Measures[m].Name)
			case !f.within(uint32(n), m, got, want):
				s.fail("row %s: the state of %s is not between what must and what may be there", name(key), s.spec.Measures[m].Name)
			}
		}
	}
	if found != len(s.sink.rows) {
		for _, row := range s.sink.rows {
			if !slices.ContainsFunc(f.rows, func(w wanted) bool { return string(f.key(nil, w.rowKey)) == row.key }) {
				s.fail("row %s is not in the log", name([]byte(row.key)))
			}
		}
	}
}

// within reports whether low ⊆ got ⊆ high, where a ⊆ b if a merges into b without a
// change.
func (f *reference) within(row uint32, m int, got, low []byte) bool {
	high := f.high.bytes(nil, row, m)
	if f.merged.spec == nil {
		f.merged = newStates(f.spec)
	}
	merge := func(a, b []byte) []byte {
		i := f.merged.add()
		if f.merged.merge(i, m, a) != nil || f.merged.merge(i, m, b) != nil {
			return nil
		}
		return f.merged.bytes(nil, i, m)
	}
	return bytes.Equal(merge(got, low), got) && bytes.Equal(merge(high, got), high)
}

// name returns a row's key as text.
func name(key []byte) string {
	groups := strings.Split(strings.TrimSuffix(string(key[8:]), "\x00"), "\x00")
	return fmt.Sprintf("(%s) at %d ms", strings.Join(groups, " "), binary.BigEndian.Uint64(key))
}

func (s *schedule) judgePlaces(f *reference) {
	var bad []string
	for k, w := range f.places {
		got, ok := s.sink.places[k]
		switch {
		case !ok && w.low == place{}:
		case !ok:
			bad = append(bad, fmt.Sprintf("no position of %s in window %d", k.member, k.window))
		case got.stamp.Compare(w.low.stamp) < 0 || got.stamp.Compare(w.high.stamp) > 0 || w.low == w.high && got != w.low:
			bad = append(bad, fmt.Sprintf("position of %s in window %d is %v, the log has %v", k.member, k.window, got, w.high))
		}
	}
	for k := range s.sink.places {
		if _, ok := f.places[k]; !ok {
			bad = append(bad, fmt.Sprintf("a position of %s in window %d is not in the log", k.member, k.window))
		}
	}
	s.failSorted(bad)
}

func (s *schedule) judgeDead(f *reference) {
	var bad []string
	for k, w := range f.dead {
		got, ok := s.sink.dead[k]
		switch {
		case !ok && w.maybe:
		case !ok:
			bad = append(bad, fmt.Sprintf("no dead letter for offset %d of partition %d, which is %v", k.offset, k.partition, w.outcome))
		case got.Outcome != w.outcome || got.Time != w.rec.time || !bytes.Equal(got.Payload, w.rec.value) || got.Size != len(w.rec.value) || got.Reason == "":
			bad = append(bad, fmt.Sprintf("dead letter for offset %d of partition %d: %v (%s) %q, the log has %v %q", k.offset, k.partition, got.Outcome, got.Reason, got.Payload, w.outcome, w.rec.value))
		}
	}
	for k, d := range s.sink.dead {
		if _, ok := f.dead[k]; !ok {
			bad = append(bad, fmt.Sprintf("offset %d of partition %d is a dead letter (%v: %s), but not in the log", k.offset, k.partition, d.Outcome, d.Reason))
		}
	}
	s.failSorted(bad)
}

// judgeLedger checks that the ledger has one line for each chunk, or one for several, with exactly the
// outcomes of the log.
func (s *schedule) judgeLedger(f *reference) {
	sums, doubt := map[window.Line]*window.Line{}, map[window.Line]bool{}
	valid := map[partitionEpoch][]window.Line{} // that no other covers
	for key, lines := range s.sink.ledger {
		for n := range lines {
			if l := &lines[n]; !slices.ContainsFunc(lines[:n], func(o window.Line) bool { return o.Covers(l) }) {
				valid[key] = append(valid[key], *l)
				valid[key][len(valid[key])-1].Saved = "" // the next owner goes by it: that is judged by what it counts
			}
		}
	}
	for _, w := range f.lines {
		var of []window.Line
		for _, l := range valid[partitionEpoch{w.line.Epoch, w.line.Partition}] {
			if l.Chunk == w.line.Chunk || l.Covers(&w.line) {
				of = append(of, l)
			}
		}
		switch {
		case w.maybe:
			for _, l := range of {
				doubt[l] = true
			}
		case len(of) != 1:
			s.fail("partition %d, chunk %d: %d ledger lines", w.line.Partition, w.line.Chunk, len(of))
		case of[0].Block(s.spec.Chunk) > 1:
			sum := sums[of[0]]
			if sum == nil {
				sum = &window.Line{}
				sums[of[0]] = sum
			}
			add(sum, &w.line)
		case of[0] != w.line:
			s.fail("partition %d, chunk %d: the ledger says\n\t%+v, the log\n\t%+v", w.line.Partition, w.line.Chunk, of[0], w.line)
		}
	}
	var bad []string
	for l, sum := range sums {
		if sum.TopicID, sum.Partition, sum.Epoch = l.TopicID, l.Partition, l.Epoch; l != *sum && !doubt[l] {
			bad = append(bad, fmt.Sprintf("partition %d, chunk %d and later: the ledger says\n\t%+v, the log\n\t%+v", l.Partition, l.Chunk, l, *sum))
		}
	}
	s.failSorted(bad)
}

// add adds the line of the next chunk to a line.
func add(to, l *window.Line) {
	if to.Next == 0 {
		to.Chunk, to.First = l.Chunk, l.First
	}
	to.Next, to.Watermark = l.Next, max(to.Watermark, l.Watermark)
	for f, n := range l.Outcomes {
		to.Outcomes[f] += n
	}
	to.Events.All += l.Events.All
	for f, n := range l.Events.By {
		to.Events.By[f] += n
	}
}

// audit runs weir's audit over the sink. If no chunk is in doubt it must find
// nothing.
func (s *schedule) audit(f *reference) {
	a := audit.New(audit.Job{Name: s.spec.Job, Chunk: s.spec.Chunk}, audit.Scope{})
	for _, row := range s.sink.rows {
		for _, h := range row.hits {
			a.Hits(h.slot, h.count, true)
		}
	}
	for _, key := range slices.SortedFunc(maps.Keys(s.sink.ledger), func(a, b partitionEpoch) int {
		return cmp.Or(cmp.Compare(a.epoch, b.epoch), cmp.Compare(a.partition, b.partition))
	}) {
		lines := s.sink.ledger[key]
		for n := range lines {
			a.Line(&lines[n], true)
		}
	}
	for found := range a.Findings {
		if found.Class != audit.Hole && found.Class != audit.Missing && s.strainedIn(found) {
			continue
		}
		s.fail("audit: %v: %+v", found.Class, found)
	}
	s.judgeCuts(f, a.Notes)
	s.judgeLog(a)
}

// judgeLog asks what a running process, weir verify and a view ask about the topic that is read: how
// far it is counted, what is wrong with its log, and which windows are complete.
func (s *schedule) judgeLog(a *audit.Audit) {
	covered := audit.Coverage{Now: 1 << 60} // a sink's clock bounds nothing here: records alone do
	for key, lines := range s.sink.ledger {
		c := audit.Covered{Epoch: key.epoch}
		for _, l := range lines {
			c.TopicID, c.Next, c.Watermark = l.TopicID, max(c.Next, l.Next), max(c.Watermark, l.Watermark)
		}
		covered.Add(key.partition, c)
	}
	log, spans := []event.Assignment{}, map[int32]event.Span{}
	for n, p := range s.topic.parts {
		log = append(log, event.Assignment{Partition: int32(n), LogStart: p.start, LogEnd: p.end(), TopicID: s.topic.id})
		spans[int32(n)] = event.Span{First: p.start, Next: p.end(), End: p.end(), TopicID: s.topic.id}
	}
	if s.mistake != EpochLatest {
		covered.Of(spans)
	}
	for p := range spans {
		if n := covered.Waiting(p, spans[p]); n > 0 {
			s.fail("partition %d: %d records seem to wait, and all are counted", p, n)
		}
	}
	if at := new(audit.Watermarks).Look(&covered, spans, 0); at > s.producer.now {
		s.fail("windows are complete to %d, it is %d", at, s.producer.now)
	}
	found, lag := a.Log(log)
	if len(found) > 0 || lag > 0 {
		s.fail("the log does not fit the ledger: %d records are not counted, %+v", lag, found)
	}
}

// judgeCuts checks chunks whose beginning retention deleted while they were open.
// The rows may lack no more counted events than the audit notes, and the process
// that read on must have reported the cut. It leaves out two cases. With a group
// cap, deduplication or a throttle, the second reading means something else than the first, so
// the missing number is not defined. And if a process read records that a ledger
// line calls a gap, it is not known how far it read.
func (s *schedule) judgeCuts(f *reference, notes iter.Seq[audit.Finding]) {
	if s.spec.LooksBack() || s.mix.on.Has(Cap) || s.spec.MaxGroups < 1000 {
		return
	}
	noted := map[window.Slot]uint64{}
	for n := range notes {
		noted[window.MakeSlot(n.Epoch, n.Partition, n.Chunk)] = n.Expected
	}
	hits := map[window.Slot]uint64{}
	for _, row := range s.sink.rows {
		for _, h := range row.hits {
			hits[h.slot] += h.count
		}
	}
	var bad []string
	for key, lines := range s.sink.ledger {
		t := s.counted[key]
		if t == nil {
			continue
		}
		p := t.parts[key.partition]
		counted, unclear, next := map[window.Slot]uint64{}, map[window.Slot]bool{}, int64(0)
		for _, l := range lines { // in the order of their first offsets
			if l.Hits() == 0 || l.Block(s.spec.Chunk) > 1 { // a chunk with a cut is not folded
				continue
			}
			sum := uint64(0)
			for _, n := range l.Outcomes {
				sum += n
			}
			if p.thinned(l.Chunk) || sum != uint64(l.Next-l.First) {
				unclear[l.Slot()] = true
			}
			for o := max(l.First, next); o < l.Next; o++ {
				for _, e := range p.records[o].events(f.spec) {
					if f.outcome(&e) == window.Counted {
						counted[l.Slot()]++
					}
				}
			}
			next = max(next, l.Next)
		}
		for slot, n := range counted {
			if hits[slot] >= n || unclear[slot] {
				continue
			}
			s.totals.Cut++
			if noted[slot] < n {
				bad = append(bad, fmt.Sprintf("partition %d, chunk %d: %d events were counted, the rows hold %d, the audit notes at most %d", key.partition, slot.Chunk(), n, hits[slot], noted[slot]))
			}
			if !s.warned[slot] {
				bad = append(bad, fmt.Sprintf("partition %d, chunk %d: %d events were counted, the rows hold %d, and no process has said that the chunk's beginning is gone", key.partition, slot.Chunk(), n, hits[slot]))
			}
		}
	}
	s.failSorted(bad)
}

// finish adds the stored data to the digest.
func (s *schedule) finish(keys []partitionEpoch) {
	for _, row := range s.sink.rows {
		for _, h := range row.hits {
			s.note(uint64(h.slot)<<20 ^ h.count)
		}
	}
	for _, key := range keys {
		for _, l := range s.sink.ledger[key] {
			s.note(uint64(l.First)<<32 | uint64(l.Next))
			s.note(l.Outcomes[window.Counted])
		}
	}
	for _, c := range s.group.committed {
		s.note(uint64(c))
	}
}
