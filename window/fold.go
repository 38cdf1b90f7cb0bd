package window

import (
	"bytes"

	"weir/event"
)

// A Past is a ledger line, and when it was written first and last, by the sink's clock.
type Past struct {
	Line
	Began, Flushed event.Time
	Open           bool // it is not to be folded yet
	Fresh          bool // it stands for several chunks, and the ledger does not have it
	covers         bool // it stands for lines that came, too
}

// Covers reports whether the line is a fold that stands for another line.
func (l *Line) Covers(o *Line) bool {
	return o.Epoch == l.Epoch && o.Partition == l.Partition && o.Chunk > l.Chunk && o.First < l.Next && o.Next <= l.Next
}

// A Folder finds lines that one line can stand for. It puts two neighbours together if they are the
// halves of a block: 2^n chunks, the first of which is a multiple of 2^n. The block's line has the key of the
// first chunk's, the sums of the outcomes, and the greatest watermark. So it is a function of its lines, of
// two blocks one contains the other or has nothing of it, and the lines of equal blocks are equal: it does
// not matter who folds what, when, and how often. Where lines and a fold that covers them
// are both there, the fold stands for all.
//
// Only chunks that are whole, add up and have no other line are put together, and a block was written
// within Span.
type Folder struct {
	Chunk int64
	Span  event.Time

	held   Past // the line that came last…
	lines  int  // …and how many lines its chunk has so far
	blocks []Past
	folds  []Past
}

// Add takes the next line: by epoch, partition, chunk, first offset.
func (f *Folder) Add(l Past) {
	if f.lines > 0 && f.held.Slot() == l.Slot() {
		f.lines++
		return
	}
	f.push()
	f.held, f.lines = l, 1
}

// Folds ends the folding and returns the folds that are fresh, or cover a line that came.
func (f *Folder) Folds() []Past {
	f.push()
	f.end()
	return f.folds
}

// push takes in the chunk whose lines have come.
func (f *Folder) push() {
	if f.lines == 0 {
		return
	}
	l := &f.held
	if n := len(f.blocks); n > 0 {
		switch top := &f.blocks[n-1]; {
		case top.Covers(&l.Line):
			top.covers = true
			return
		case l.Epoch != top.Epoch || l.Partition != top.Partition || l.First != top.Next:
			f.end()
		}
	}
	if f.lines > 1 || l.Open || !l.whole(f.Chunk) {
		f.end()
		return
	}
	f.blocks = append(f.blocks, *l)
	for n := len(f.blocks); n > 1 && f.blocks[n-2].join(&f.blocks[n-1], f.Span); n-- {
		f.blocks = f.blocks[:n-1]
	}
}

func (f *Folder) end() {
	for _, b := range f.blocks {
		if b.Fresh || b.covers {
			f.folds = append(f.folds, b)
		}
	}
	f.blocks = f.blocks[:0]
}

// join adds the block behind a block, if they are the halves of one.
func (l *Past) join(o *Past, span event.Time) bool {
	size := l.Next - l.First
	flushed := max(l.Flushed, o.Flushed)
	if o.Next-o.First != size || l.First%(2*size) != 0 || flushed-min(l.Began, o.Began) > span {
		return false
	}
	l.Next, l.Flushed, l.Began, l.Saved = o.Next, flushed, min(l.Began, o.Began), ""
	l.Watermark = max(l.Watermark, o.Watermark)
	if bytes.Compare(o.TopicID[:], l.TopicID[:]) > 0 {
		l.TopicID = o.TopicID
	}
	for f := range l.Outcomes {
		l.Outcomes[f] += o.Outcomes[f]
	}
	l.Events.plus(&o.Events)
	l.Fresh = true
	return true
}

// whole reports whether the line is of all offsets of a block, and adds up.
func (l *Line) whole(chunk int64) bool {
	sum := uint64(0)
	for _, n := range l.Outcomes {
		sum += n
	}
	return l.Block(chunk) > 0 && sum == uint64(l.Next-l.First) && l.Even()
}

// Block returns how many chunks the line is of, all their offsets; 0 if these are no block.
func (l *Line) Block(chunk int64) int64 {
	n := (l.Next - l.First) / chunk
	if n < 1 || n&(n-1) != 0 || l.Chunk%n != 0 || l.First != l.Chunk*chunk || l.Next != l.First+n*chunk {
		return 0
	}
	return n
}
