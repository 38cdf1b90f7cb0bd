package clickhouse

import (
	"encoding/binary"
	"io"
	"slices"
	"strings"

	"weir/event"
	"weir/window"
)

// A block builds one Native block, in revision 0, which is what the server reads over
// HTTP: the numbers of columns and rows as varints, then for each column its name, its
// type and the values of all rows. The server casts String to LowCardinality, and a
// plain type to SimpleAggregateFunction. The buffers are used again for the next block.
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
}

const (
	// A block is sent when it reaches either bound. Blocks are large, because each
	// becomes a part of the table; they are bounded, because weir and the server hold
	// them in memory. 16 MiB are 1,300 dense sketches.
	blockRows  = 1 << 16
	blockBytes = 16 << 20
)

func newBlock(table string, columns ...values) *block {
	return &block{table: table, cols: columns}
}

// value makes a column with n runs.
func value(name, typ string, n int) values {
	return values{name: name, typ: typ, runs: make([][]byte, n)}
}

func (b *block) reset() {
	b.rows = 0
	for _, c := range b.cols {
		for i := range c.runs {
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

// reader returns the bytes of the block, which it does not copy.
func (b *block) reader() io.Reader {
	b.head = binary.AppendUvarint(b.head[:0], uint64(len(b.cols)))
	b.head = binary.AppendUvarint(b.head, uint64(b.rows))
	ends := []int{0}
	for _, c := range b.cols {
		b.head = appendString(b.head, c.name)
		b.head = appendString(b.head, c.typ)
		ends = append(ends, len(b.head))
	}
	// The first column's name and type follow the counts directly.
	var r runs
	for i, c := range b.cols {
		from := ends[i]
		if i == 0 {
			from = 0
		}
		r = append(r, b.head[from:ends[i+1]])
		r = append(r, c.runs...)
	}
	return &r
}

// runs reads slices one after another. Its WriteTo passes each slice whole, whereas
// io.Copy would copy it through a buffer of 32 KiB.
type runs [][]byte

func (r *runs) Read(p []byte) (int, error) {
	for len(*r) > 0 && len((*r)[0]) == 0 {
		*r = (*r)[1:]
	}
	if len(*r) == 0 {
		return 0, io.EOF
	}
	n := copy(p, (*r)[0])
	(*r)[0] = (*r)[0][n:]
	return n, nil
}

func (r *runs) WriteTo(w io.Writer) (sum int64, err error) {
	for ; len(*r) > 0; *r = (*r)[1:] {
		if len((*r)[0]) == 0 {
			continue
		}
		n, err := w.Write((*r)[0])
		sum += int64(n)
		if err != nil {
			return sum, err
		}
	}
	return sum, nil
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

// addRow adds one (window, group) to a state block, stamped with the round.
// group is scratch.
func (b *block) addRow(l *layout, row window.Row, round uint64, group [][]byte) [][]byte {
	group = row.Group(group[:0])
	for i, text := range group {
		run := &b.cols[i].runs[0]
		*run = appendString(*run, text)
	}
	start := &b.cols[len(l.by)].runs[0]
	*start = appendSeconds(*start, row.Window())
	hits := b.cols[len(l.by)+1].runs
	for slot, n := range row.Hits {
		hits[1] = append64(hits[1], uint64(slot))
		hits[2] = append64(hits[2], n)
	}
	hits[0] = append64(hits[0], uint64(len(hits[1])/8)) // where the row's entries end
	at := len(l.by) + 2
	for m := range l.counted {
		m.addTo(&b.cols[at], row)
		at++
	}
	b.cols[at].runs[0] = append64(b.cols[at].runs[0], round)
	b.rows++
	return group
}

// deadBlock returns the block of dead letters.
func deadBlock() *block {
	return newBlock("weir_dead_letters",
		value("job", "String", 1), value("version", "UInt32", 1), value("epoch", "UInt8", 1), value("partition", "UInt16", 1),
		value("offset", "UInt64", 1), value("topic", "String", 1), value("fate", "String", 1), value("reason", "String", 1),
		value("record_time", "DateTime64(3)", 1), value("payload", "String", 1), value("payload_bytes", "UInt64", 1))
}

func (b *block) addDead(j *Job, d *window.DeadLetter) {
	put := b.key(j, d.Epoch, d.Partition)
	put(func(dst []byte) []byte { return append64(dst, uint64(d.Offset)) })
	put(func(dst []byte) []byte { return appendString(dst, j.Topic) })
	put(func(dst []byte) []byte { return appendString(dst, d.Outcome.String()) })
	put(func(dst []byte) []byte { return appendString(dst, d.Reason) })
	put(func(dst []byte) []byte { return append64(dst, uint64(d.Time)) })
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

// clip frees runs that one large flush has grown.
func (b *block) clip() {
	for _, c := range b.cols {
		for i := range c.runs {
			if cap(c.runs[i]) > 2*blockBytes {
				c.runs[i] = slices.Clip(c.runs[i][:0:0])
			}
		}
	}
}
