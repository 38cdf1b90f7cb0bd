package clickhouse

import (
	"encoding/binary"
	"iter"
	"slices"
	"strings"

	"weir/event"
	"weir/window"
)

// A block builds one Native block, in revision 0, which is what the server reads over
// HTTP: the numbers of columns and rows as varints, then for each column its name, its
// type and the values of all rows. The server casts String to LowCardinality, and a
// plain type to SimpleAggregateFunction. The buffers are used again for the next block:
// see Sink.insert.
type block struct {
	table string
	cols  []values
	rows  int
	head  []byte
}

// values is one column of a block. Most types are one run of bytes; a Map is
// three (ends, keys, values), a Tuple one for each element.
type values struct {
	name, typ string
	runs      [][]byte
	late      bool // the last of several runs is made after the others, and sent while it grows: it is long
}

const (
	// A block is sent when it reaches either bound. Each becomes a part of the table, and
	// parts have to be merged, so blocks are large; the server holds them in memory, so
	// they are bounded. blockBytes of state rows is what a statement aims at, because they
	// are never together in weir's memory: see writeState.
	blockRows  = 1 << 16
	blockBytes = 64 << 20

	// keptBytes bounds the blocks that are built as a whole: dead letters, ledger lines,
	// positions.
	keptBytes = 4 << 20

	// firstRows is how many rows the first statement of state rows has at most: fewer than
	// blockBytes with a dense HLL in each.
	firstRows = 1 << 10

	// pieceBytes is how much of a column of states is encoded at a time.
	pieceBytes = 256 << 10
)

func newBlock(table string, columns ...values) *block {
	return &block{table: table, cols: columns}
}

// value makes a column with n runs.
func value(name, typ string, n int) values {
	return values{name: name, typ: typ, runs: make([][]byte, n)}
}

// reset empties the block. It keeps its memory, except that of an unusual run.
func (b *block) reset() {
	b.rows = 0
	for _, c := range b.cols {
		for i := range c.runs {
			if cap(c.runs[i]) > 2*keptBytes {
				c.runs[i] = nil
			}
			c.runs[i] = c.runs[i][:0]
		}
	}
}

// abandon resets the block and leaves its memory to a request that may still read it.
func (b *block) abandon() {
	b.rows, b.head = 0, nil
	for _, c := range b.cols {
		clear(c.runs)
	}
}

func (b *block) size() int {
	n := 0
	for _, c := range b.cols {
		for _, r := range c.runs {
			n += len(r)
		}
	}
	return n
}

// statement returns the INSERT statement for the block; clickhouse-go adds the format.
func (b *block) statement(database string) string {
	names := make([]string, len(b.cols))
	for i, c := range b.cols {
		names[i] = quote(c.name)
	}
	return "INSERT INTO " + quote(database) + "." + quote(b.table) + " (" + strings.Join(names, ", ") + ")"
}

// pieces yields the bytes of the block, which it does not copy.
func (b *block) pieces(yield func([]byte) bool) {
	b.stream(b.rows, nil, yield)
}

// stream yields the bytes of a block of n rows, column by column. If the columns are empty, add appends
// row i to one: to its last run if that is said, else to the others, and to the last one too
// unless it is late. A run that is the only one, or late, is yielded while it grows, in pieces;
// what is in its buffer is never more. What is small is gathered, because a request
// sends each piece in a packet of its own.
func (b *block) stream(n int, add func(c *values, i int, last bool), yield func([]byte) bool) {
	b.head = binary.AppendUvarint(b.head[:0], uint64(len(b.cols)))
	b.head = binary.AppendUvarint(b.head, uint64(n))
	// out yields bytes, or gathers them in the head.
	out := func(run []byte) bool {
		if len(run) <= pieceBytes/8 {
			b.head = append(b.head, run...)
			if len(b.head) < pieceBytes {
				return true
			}
			run = nil
		}
		if !yield(b.head) {
			return false
		}
		b.head = b.head[:0]
		return len(run) == 0 || yield(run)
	}
	for k := range b.cols {
		c := &b.cols[k]
		b.head = appendString(b.head, c.name)
		b.head = appendString(b.head, c.typ)
		last, full := len(c.runs)-1, b.rows > 0
		if last > 0 && !full {
			for i := range n {
				add(c, i, false)
				c.foresee(i+1, n)
			}
		}
		for r := range c.runs {
			if r == last && (last == 0 || c.late) && !full {
				for i := range n {
					if add(c, i, true); len(c.runs[r]) >= pieceBytes {
						if !out(c.runs[r]) {
							return
						}
						c.runs[r] = c.runs[r][:0]
					}
				}
			}
			if !out(c.runs[r]) {
				return
			}
			if !full {
				c.runs[r] = c.runs[r][:0]
			}
		}
	}
	yield(b.head)
}

// foresee makes room for the rest of n rows in runs that are nearly full, as if it were like the
// rows so far, up to four times as much: append would move a run much more often.
func (c *values) foresee(rows, n int) {
	for i, run := range c.runs {
		if each := len(run)/rows + 1; cap(run)-len(run) < min(8, n-rows)*each {
			c.runs[i] = slices.Grow(run, min((n-rows)*each, 3*len(run)))
		}
	}
}

func appendString[T string | []byte](dst []byte, s T) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

func append64(dst []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(dst, v) }

// appendSeconds appends a DateTime.
func appendSeconds(dst []byte, t event.Time) []byte {
	return binary.LittleEndian.AppendUint32(dst, uint32(t/1000))
}

// stateBlock returns the block of a job's state table.
func stateBlock(l *layout) *block {
	var cols []values
	for _, c := range l.by {
		cols = append(cols, value(c.name, "String", 1))
	}
	cols = append(cols, value("window_start", "DateTime", 1), value("hits", "Map(UInt64, UInt64)", 3))
	for m := range l.counted {
		cols = append(cols, m.values())
	}
	return newBlock(l.state(), append(cols, value("flushed_in", "UInt64", 1))...)
}

// stateRows yields the bytes of a block of the state rows [from, to) of a table, or of those
// that rows has the numbers of, stamped with the round. It takes the memory of a piece, and of the columns that have several runs.
func (s *Sink) stateRows(t *window.Table, rows []int, from, to int, round uint64) iter.Seq[[]byte] {
	b, l := s.state, s.layout
	by := len(l.by)
	measures := s.counted
	return func(yield func([]byte) bool) {
		b.reset()
		at := 0 // of the column, which stream takes one after the other
		last := &b.cols[0]
		b.stream(to-from, func(c *values, i int, end bool) {
			if c != last {
				at++
				last = c
			}
			n := from + i
			if rows != nil {
				n = rows[n]
			}
			row := t.Row(n)
			run := &c.runs[0]
			switch k := at - by; {
			case k < 0:
				s.group = row.Group(s.group[:0])
				*run = appendString(*run, s.group[at])
			case k == 0:
				*run = appendSeconds(*run, row.Window())
			case k == 1:
				for slot, n := range row.Hits {
					c.runs[1] = append64(c.runs[1], uint64(slot))
					c.runs[2] = append64(c.runs[2], n)
				}
				*run = append64(*run, uint64(len(c.runs[1])/8)) // where the row's entries end
			case k < 2+len(measures):
				measures[k-2].addTo(c, row, end)
			default:
				*run = append64(*run, round)
			}
		}, yield)
	}
}

// deadBlock returns the block of dead letters.
func deadBlock() *block {
	return newBlock("weir_dead_letters",
		value("job", "String", 1), value("version", "UInt32", 1), value("epoch", "UInt8", 1), value("partition", "UInt16", 1),
		value("offset", "UInt64", 1), value("topic", "String", 1), value("outcome", "String", 1), value("reason", "String", 1),
		value("record_time", "DateTime64(3)", 1), value("payload", "String", 1), value("payload_bytes", "UInt64", 1))
}

func (b *block) addDead(j *Job, d *window.DeadLetter) {
	put := b.key(j, d.Epoch, d.Partition)
	put(func(dst []byte) []byte { return append64(dst, uint64(d.Offset)) })
	put(func(dst []byte) []byte { return appendString(dst, j.Topic) })
	put(func(dst []byte) []byte { return appendString(dst, d.Outcome.String()) })
	put(func(dst []byte) []byte { return appendString(dst, d.Reason) })
	put(func(dst []byte) []byte { return append64(dst, uint64(storable(d.Time))) })
	put(func(dst []byte) []byte { return appendString(dst, d.Payload) })
	put(func(dst []byte) []byte { return append64(dst, uint64(d.Size)) })
	b.rows++
}

// ledgerBlock returns the block of ledger lines.
func ledgerBlock() *block {
	b := newBlock(LedgerTable,
		value("job", "String", 1), value("version", "UInt32", 1), value("epoch", "UInt8", 1), value("partition", "UInt16", 1),
		value("chunk", "UInt64", 1), value("first", "UInt64", 1), value("next", "UInt64", 1),
		value("watermark", "DateTime64(3)", 1), value("topic_id", "UUID", 1))
	for f := range window.Outcomes {
		b.cols = append(b.cols, value(f.String(), "UInt64", 1))
	}
	for _, name := range eventColumns() {
		b.cols = append(b.cols, value(name, "UInt64", 1))
	}
	return b
}

func (b *block) addLine(j *Job, line *window.Line) {
	put := b.key(j, line.Epoch, line.Partition)
	for _, v := range [...]uint64{uint64(line.Chunk), uint64(line.First), uint64(line.Next), uint64(line.Watermark)} {
		put(func(dst []byte) []byte { return append64(dst, v) })
	}
	put(func(dst []byte) []byte { // a UUID is two UInt64, the upper half first
		dst = append64(dst, binary.BigEndian.Uint64(line.TopicID[:8]))
		return append64(dst, binary.BigEndian.Uint64(line.TopicID[8:]))
	})
	for _, n := range line.Outcomes {
		put(func(dst []byte) []byte { return append64(dst, n) })
	}
	for _, n := range eventNumbers(line) {
		put(func(dst []byte) []byte { return append64(dst, *n) })
	}
	b.rows++
}

// key adds the values of the columns that ledger and dead letters have first. It returns
// a function that adds a value to the next column each time.
func (b *block) key(j *Job, epoch uint8, partition int32) (put func(func([]byte) []byte)) {
	at := 0
	put = func(add func([]byte) []byte) {
		run := &b.cols[at].runs[0]
		*run = add(*run)
		at++
	}
	put(func(dst []byte) []byte { return appendString(dst, j.Spec.Job) })
	put(func(dst []byte) []byte { return binary.LittleEndian.AppendUint32(dst, uint32(j.Spec.Version)) })
	put(func(dst []byte) []byte { return append(dst, epoch) })
	put(func(dst []byte) []byte { return binary.LittleEndian.AppendUint16(dst, uint16(partition)) })
	return put
}
