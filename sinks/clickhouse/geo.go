package clickhouse

import (
	"context"
	"fmt"

	"weir/event"
	"weir/measures/geo"
	geosketch "weir/sketches/geo"
	"weir/window"
)

// placesTable returns the table of a geo measure.
func (l *layout) placesTable(m *measure) table {
	start := column{name: "window_start", typ: utc}
	return table{
		name: l.places(m), engine: "AggregatingMergeTree", patient: true,
		comment: "The last position of each member in each window: the greatest (time, slot, offset) stays.",
		columns: []column{
			start, {name: "member", typ: "String", extra: "CODEC(ZSTD(1))"},
			{name: "last", typ: "SimpleAggregateFunction(max, Tuple(ts " + millis + ", slot UInt64, off UInt64, score UInt64))", extra: "CODEC(ZSTD(1))"},
			touched("flushed_at"),
		},
		indexes:   []string{touchedIndex("flushed_at")},
		partition: "toYYYYMMDD(window_start)",
		order:     []string{"window_start", "member"},
		ttl:       expiry("flushed_at", l.Keep),
		settings:  "ttl_only_drop_parts = 1",
	}
}

// placesData is what the template of a geo measure's view sees.
type placesData struct {
	c *Client
	l *layout
	m *measure
}

func (d placesData) OnCluster() string { return d.c.onCluster() }
func (d placesData) View() string      { return d.c.name(d.l.placesView(d.m)) }
func (d placesData) Table() string     { return d.c.read(d.l.places(d.m), d.c.wide) }

// placesBlock returns an empty block for a geo measure's table.
func placesBlock(l *layout, m *measure) *block {
	return newBlock(l.places(m),
		value("window_start", "DateTime", 1), value("member", "String", 1),
		value("last", "Tuple(ts DateTime64(3), slot UInt64, off UInt64, score UInt64)", 4))
}

func (b *block) addPlace(start event.Time, member []byte, at event.Time, slot uint64, offset int64, score uint64) {
	c := b.cols
	c[0].runs[0] = appendSeconds(c[0].runs[0], start)
	c[1].runs[0] = appendString(c[1].runs[0], member)
	for i, v := range [4]uint64{uint64(at), slot, uint64(offset), score} {
		c[2].runs[i] = append64(c[2].runs[i], v)
	}
	b.rows++
}

// writePlaces writes the positions of a shard's members.
func (s *Sink) writePlaces(ctx context.Context, shard int, b *block, t *window.Table, m *measure) (err error) {
	b.reset()
	all := s.client.shards
	geo.Of(t, m.index).Each(func(start int64, member []byte, at geosketch.Stamp, score uint64) bool {
		if all.of(s.layout.Spec.Job, member) != shard {
			return true
		}
		b.addPlace(event.Time(start), member, event.Time(at.Time), at.Slot, at.Offset, score)
		if b.full(s.client.limit) {
			err = s.client.flush(ctx, all[shard], b)
		}
		return err == nil
	})
	if err != nil {
		return err
	}
	return s.client.flush(ctx, all[shard], b)
}

// Places merges the positions of geo measure m into last: for each member, the last one
// in all windows of the range, under window 0.
func (s *Sink) Places(ctx context.Context, r *window.Range, m int, last *geosketch.Last) error {
	for i := range s.layout.measures {
		ms := &s.layout.measures[i]
		if ms.index != m || !ms.Kind.ByMember {
			continue
		}
		sql := fmt.Sprintf("SELECT member, toUnixTimestamp64Milli(l.ts), l.slot, l.off, l.score FROM (SELECT member, max(last) AS l FROM %s"+
			" WHERE window_start >= toDateTime(%d, 'UTC') AND window_start < toDateTime(%d, 'UTC') GROUP BY member)",
			s.client.name(s.layout.places(ms)), ceilSeconds(r.From), ceilSeconds(r.Until))
		var member string
		var ts int64
		var slot, off, score uint64
		to := []any{&member, &ts, &slot, &off, &score}
		return s.client.shards.question(ctx, "read measure "+ms.Name+" of "+s.layout.Spec.Job, sql, func(scan func(...any) error) error {
			if err := scan(to...); err != nil {
				return err
			}
			last.Put(0, []byte(member), geosketch.Stamp{Time: ts, Slot: slot, Offset: int64(off)}, score)
			return nil
		})
	}
	return fmt.Errorf("clickhouse: job %s: measure %d holds no places", s.layout.Spec.Job, m)
}
