package audit

import "weir/window"

// Reached has the offsets [First, Next) of a partition that the ledger covers in an
// epoch.
type Reached struct {
	Partition   int32
	Epoch       uint8
	First, Next int64
}

// counted says how many events an entry of Audit.reached has counted, and of which
// topic.
type counted struct {
	topicID [16]byte
	events  uint64
	several bool // a record may have several events
}

// Reached returns how far the ledger goes: one entry for each partition and epoch.
func (a *Audit) Reached() []Reached { return a.reached }

// Line adds a ledger line. Lines must come by epoch, partition, chunk and first
// offset. comparable is false if rows of the line may have expired. A line that a fold covers
// (window.Folder) counts for nothing.
func (a *Audit) Line(l *window.Line, comparable bool) {
	if a.last.Covers(l) {
		return // it is not deleted yet, or has come back
	}
	a.looked.Lines++
	chunks := l.Block(a.job.Chunk)
	if chunks > 1 {
		a.folds, a.last = append(a.folds, tallied{l.Slot(), l.Slot() + window.Slot(chunks)}), *l
	}
	sum := uint64(0)
	for _, n := range l.Outcomes {
		sum += n
	}
	begin := l.Chunk * a.job.Chunk
	switch span := uint64(l.Next - l.First); {
	case sum != span:
		a.line(Unbalanced, l, span, sum)
	case l.Next < l.First || l.First < begin || l.Next > begin+max(chunks, 1)*a.job.Chunk:
		a.line(Outside, l, span, sum)
	}
	if !l.Even() {
		a.line(Uneven, l, l.Events.All, l.Hits())
	}
	at := len(a.reached) - 1
	if at < 0 || a.reached[at].Partition != l.Partition || a.reached[at].Epoch != l.Epoch {
		a.reached = append(a.reached, Reached{l.Partition, l.Epoch, l.First, l.Next})
		a.topics = append(a.topics, counted{topicID: l.TopicID})
		at++
	}
	a.topics[at].events += l.Hits()
	a.topics[at].several = a.topics[at].several || l.Events.All > 0
	r := &a.reached[at]
	if r.First == r.Next {
		// So far there is only the empty line that opened the partition. Retention
		// may have deleted records before another process began to count. If rows of
		// its chunk hold events, that is Excess.
		r.First = l.First
	} else if l.First > r.Next {
		a.line(Hole, l, uint64(r.Next), uint64(l.First))
	}
	r.Next = max(r.Next, l.Next)
	a.chunk(l.Slot()).line(l, comparable)
}

func (a *Audit) line(k Class, l *window.Line, expected, found uint64) {
	f := a.ofChunk(k, l.Slot())
	f.Expected, f.Found, f.Gaps = expected, found, l.Outcomes[window.Gap]
	a.found = append(a.found, f)
}

// twice yields a finding for each two epochs that counted the same offsets of a topic.
func (a *Audit) twice(yield func(Finding) bool) bool {
	epochs := map[int32][]int{} // indexes into reached, by partition
	for i, later := range a.reached {
		for _, n := range epochs[later.Partition] {
			earlier := a.reached[n]
			both := Offsets{max(earlier.First, later.First), min(earlier.Next, later.Next)}
			if a.topics[i].topicID != a.topics[n].topicID || a.topics[i].topicID == [16]byte{} || both.Empty() {
				continue
			}
			f := a.of(Twice)
			f.Epoch, f.Partition, f.Offsets = later.Epoch, later.Partition, both
			f.Found = min(a.topics[i].events, a.topics[n].events)
			if !a.topics[i].several {
				f.Found = min(f.Found, uint64(both.Next-both.First))
			}
			if !yield(f) {
				return false
			}
		}
		epochs[later.Partition] = append(epochs[later.Partition], i)
	}
	return true
}
