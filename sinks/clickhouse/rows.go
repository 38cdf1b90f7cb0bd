package clickhouse

import (
	"context"
	"encoding/binary"
	"iter"
	"slices"

	"weir/event"
	"weir/sinks/clickhouse/native"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
	"weir/sketches/geo"
	"weir/window"
)

// The columns of a job's state table, of the tables of positions, of dead letters and of the ledger.

const (
	// A statement of state rows has blockRows rows or blockBytes at most. Each becomes a part of the
	// table, and parts have to be merged, so blocks are large; the server holds them in memory, so
	// they are bounded.
	blockRows  = 1 << 16
	blockBytes = 64 << 20

	// keptBytes bounds the blocks of rows that weir holds for them: dead letters and positions.
	keptBytes = 4 << 20

	// firstRows is how many rows the first statement of state rows has at most: fewer than
	// blockBytes with a dense HLL in each.
	firstRows = 1 << 10
)

// appendSeconds appends a DateTime.
func appendSeconds(run []byte, t event.Time) []byte {
	return binary.LittleEndian.AppendUint32(run, uint32(t/1000))
}

// groupColumns returns the columns that say which group and window a row is of.
func groupColumns(l *schema.Layout) (all []native.Column[window.Row]) {
	var group [][]byte
	for i, c := range l.By {
		all = append(all, native.String(c.Name, func(row window.Row) []byte {
			group = row.Group(group[:0])
			return group[i]
		}))
	}
	return append(all, native.Plain("window_start", "DateTime", func(run []byte, row window.Row) []byte { return appendSeconds(run, row.Window()) }))
}

// stateColumns returns the columns of a job's state table. round stamps the rows.
func stateColumns(l *schema.Layout, round uint64) []native.Column[window.Row] {
	all := append(groupColumns(l),
		native.Column[window.Row]{Name: "hits", Type: "Map(UInt64, UInt64)", Runs: 3, Add: func(runs [][]byte, row window.Row) {
			for slot, n := range row.Hits {
				runs[1] = native.Append64(runs[1], uint64(slot))
				runs[2] = native.Append64(runs[2], n)
			}
			runs[0] = native.Append64(runs[0], uint64(len(runs[1])/8)) // where the row's entries end
		}})
	for m := range l.Counted {
		all = append(all, m.StateColumn())
	}
	return append(all, native.UInt64("flushed_in", func(window.Row) uint64 { return round }))
}

// numberColumns returns the columns of the first rollup that a whole row gives.
func numberColumns(l *schema.Layout) []native.Column[window.Row] {
	all := append(groupColumns(l), native.UInt64("hits", window.Row.Sum))
	for m := range l.Counted {
		all = append(all, m.NumberColumn())
	}
	measures := l.Measured()
	return append(all, native.Column[window.Row]{Name: "flushed", Type: schema.Flushed, Runs: 2, Add: func(runs [][]byte, row window.Row) {
		runs[0] = native.Append64(runs[0], row.Sum())
		runs[1] = native.Append64(runs[1], measures)
	}})
}

// stateRows yields the rows [from, to) of a table, or of the numbers in rows.
func stateRows(t *window.Table, rows []int, from, to int) iter.Seq[window.Row] {
	return func(yield func(window.Row) bool) {
		for n := from; n < to; n++ {
			at := n
			if rows != nil {
				at = rows[n]
			}
			if !yield(t.Row(at)) {
				return
			}
		}
	}
}

// deadColumns returns the columns of dead letters of a job.
func deadColumns(j *schema.Job) []native.Column[*window.DeadLetter] {
	type row = *window.DeadLetter
	return append(keyColumns(func(d row) rowKey { return rowKey{j, d.Epoch, d.Partition} }),
		native.UInt64("offset", func(d row) uint64 { return uint64(d.Offset) }),
		native.String("topic", func(row) string { return j.Topic }),
		native.String("outcome", func(d row) string { return d.Outcome.String() }),
		native.String("reason", func(d row) string { return d.Reason }),
		native.Plain("record_time", "DateTime64(3)", func(run []byte, d row) []byte { return native.Append64(run, uint64(schema.Storable(d.Time))) }),
		native.String("payload", func(d row) []byte { return d.Payload }),
		native.UInt64("payload_bytes", func(d row) uint64 { return uint64(d.Size) }))
}

// A ledgerLine is a line of a job.
type ledgerLine struct {
	job *schema.Job
	*window.Line
	flushed event.Time // of a fold
}

// foldColumns returns the columns of the ledger for folds, which were written when their last line was.
func foldColumns() []native.Column[ledgerLine] {
	return append(ledgerColumns(), native.Plain("flushed_at", "DateTime", func(run []byte, l ledgerLine) []byte { return appendSeconds(run, l.flushed) }))
}

func ledgerColumns() []native.Column[ledgerLine] {
	all := append(keyColumns(func(l ledgerLine) rowKey { return rowKey{l.job, l.Epoch, l.Partition} }),
		native.UInt64("chunk", func(l ledgerLine) uint64 { return uint64(l.Chunk) }),
		native.UInt64("first", func(l ledgerLine) uint64 { return uint64(l.First) }),
		native.UInt64("next", func(l ledgerLine) uint64 { return uint64(l.Next) }),
		native.Plain("watermark", "DateTime64(3)", func(run []byte, l ledgerLine) []byte { return native.Append64(run, uint64(l.Watermark)) }),
		native.Plain("topic_id", "UUID", func(run []byte, l ledgerLine) []byte { // two UInt64, the upper half first
			run = native.Append64(run, binary.BigEndian.Uint64(l.TopicID[:8]))
			return native.Append64(run, binary.BigEndian.Uint64(l.TopicID[8:]))
		}))
	for f := range window.Outcomes {
		all = append(all, native.UInt64(f.String(), func(l ledgerLine) uint64 { return l.Outcomes[f] }))
	}
	all = append(all, native.String("saved", func(l ledgerLine) string { return l.Saved }))
	for i, name := range schema.EventColumns() {
		all = append(all, native.UInt64(name, func(l ledgerLine) uint64 { return *schema.EventNumbers(l.Line)[i] }))
	}
	return all
}

// A rowKey is what the ledger and dead letters have first.
type rowKey struct {
	job       *schema.Job
	epoch     uint8
	partition int32
}

func keyColumns[R any](of func(R) rowKey) []native.Column[R] {
	return []native.Column[R]{
		native.String("job", func(row R) string { return of(row).job.Spec.Job }),
		native.Plain("version", "UInt32", func(run []byte, row R) []byte {
			return binary.LittleEndian.AppendUint32(run, uint32(of(row).job.Spec.Version))
		}),
		native.Plain("epoch", "UInt8", func(run []byte, row R) []byte { return append(run, of(row).epoch) }),
		native.Plain("partition", "UInt16", func(run []byte, row R) []byte {
			return binary.LittleEndian.AppendUint16(run, uint16(of(row).partition))
		}),
	}
}

// insertAll writes a list to a shard, in statements of so many rows or keptBytes at most. size is about how
// many bytes a row has.
func insertAll[R any](ctx context.Context, c *Client, on *wire.Replicas, table string, columns []native.Column[R], list []R, size func(R) int) error {
	var w native.Writer[R]
	for len(list) > 0 {
		n, bytes := 0, 0
		for n < len(list) && n < c.limit && bytes < keptBytes {
			bytes += size(list[n])
			n++
		}
		if _, err := wire.Insert(ctx, c.DB, on, table, &w, columns, n, slices.Values(list[:n])); err != nil {
			return err
		}
		list = list[n:]
	}
	return nil
}

// A position is where a member was last in a window.
type position struct {
	start  int64
	member []byte
	at     geo.Stamp
	score  uint64
}

// placesColumns returns the columns of a geo measure's table.
func placesColumns() []native.Column[position] {
	return []native.Column[position]{
		native.Plain("window_start", "DateTime", func(run []byte, p position) []byte { return appendSeconds(run, event.Time(p.start)) }),
		native.String("member", func(p position) []byte { return p.member }),
		{Name: "last", Type: "Tuple(ts DateTime64(3), slot UInt64, off UInt64, score UInt64)", Runs: 4, Add: func(runs [][]byte, p position) {
			for i, v := range [4]uint64{uint64(p.at.Time), p.at.Slot, uint64(p.at.Offset), p.score} {
				runs[i] = native.Append64(runs[i], v)
			}
		}},
	}
}

// writePlaces writes the positions of members, each to its shard.
func (s *Sink) writePlaces(ctx context.Context, t *window.Table, m *schema.Measure) error {
	all := make([][]position, len(s.client.Shards))
	t.Positions(m.Index).Each(func(start int64, member []byte, at geo.Stamp, score uint64) bool {
		shard := s.client.Shards.Of(s.layout.Spec.Job, member)
		all[shard] = append(all[shard], position{start, member, at, score})
		return true
	})
	for shard, list := range all {
		err := insertAll(ctx, s.client, s.client.Shards[shard], s.layout.PlacesTable(m), placesColumns(), list, func(p position) int { return 50 + len(p.member) })
		if err != nil {
			return err
		}
	}
	return nil
}
