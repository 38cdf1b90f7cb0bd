package clickhouse

import (
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"weir/event"
	"weir/internal/await"
	"weir/sinks/clickhouse/migrate"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
	"weir/sinks/memory"
	"weir/sinks/sinktest"
	"weir/window"
)

// TestConformance and TestLive have a server in a time zone whose hours and days begin at other moments than those of
// UTC: it changes nothing.
func TestConformance(t *testing.T) {
	long(t)
	sinktest.Run(t, func(t *testing.T) sinktest.Backend { return &backend{c: openIn(t, kathmandu)} })
}

func TestLive(t *testing.T) {
	long(t)
	sinktest.RunLive(t, func(t *testing.T) sinktest.Backend { return &backend{c: openIn(t, kathmandu)} })
}

// backend implements sinktest.Backend with a database.
type backend struct {
	c      *Client
	last   *window.Spec                     // the spec that was opened last, whose tables exist
	before func(*testing.T, *schema.Layout) // runs before views are read; nil: nothing does
}

func suiteJob(spec *window.Spec) schema.Job {
	j := schema.Job{Spec: spec, Topic: sinktest.Topic, Keep: ages}
	for _, w := range sinktest.Rollups {
		j.Rollups = append(j.Rollups, schema.Rollup{Window: time.Duration(w) * time.Millisecond})
	}
	return j
}

func (b *backend) Open(t *testing.T, spec *window.Spec) (sinktest.Sink, error) {
	j := suiteJob(spec)
	switch b.last {
	case spec:
	case nil:
		install(t, b.c, j)
	default:
		if _, err := b.c.Migrate(t.Context(), []schema.Job{j}, migrate.Options{}); err != nil {
			return nil, err
		}
		if _, err := b.c.Job(t.Context(), j); err != nil {
			return nil, err
		}
	}
	b.last = spec
	s := b.c.sink(plan(t, j))
	s.Quiet = -time.Hour // no other process writes, so the audit judges the newest rows too
	s.foldAge = 0
	s.merge, s.client.limit = 60, 100 // several statements and blocks of each kind
	return s, nil
}

func plan(t *testing.T, j schema.Job) *schema.Layout {
	t.Helper()
	l, err := j.Plan()
	if err != nil {
		t.Fatal(err)
	}
	return l
}

func (b *backend) Contents(t *testing.T, spec *window.Spec) *memory.Contents {
	t.Helper()
	l := plan(t, suiteJob(spec))
	c := &memory.Contents{
		Rows: map[memory.Key]*memory.Row{}, Places: map[string]map[memory.Place]memory.Position{},
		Ledger: map[memory.LineKey]window.Line{}, Dead: map[memory.DeadKey]window.DeadLetter{},
	}
	b.rows(t, l, c)
	for m := range l.Located {
		c.Places[m.Name] = map[memory.Place]memory.Position{}
		b.each(t, "SELECT toInt64(toUnixTimestamp(window_start)) * 1000, member, toUnixTimestamp64Milli(max(last).ts), max(last).slot, max(last).off, max(last).score FROM "+
			b.c.Name(l.PlacesTable(m))+" GROUP BY window_start, member", func(scan func(...any) error) error {
			var start int64
			var member string
			var p memory.Position
			var off uint64
			err := scan(&start, &member, &p.Stamp.Time, &p.Stamp.Slot, &off, &p.Score)
			p.Stamp.Offset = int64(off)
			c.Places[m.Name][memory.Place{Window: event.Time(start), Member: member}] = p
			return err
		})
	}
	b.ledger(t, l, c)
	b.each(t, "SELECT epoch, toInt32(partition), toInt64(offset), outcome, reason, toUnixTimestamp64Milli(record_time), hex(payload), payload_bytes, topic FROM "+
		b.c.Name("weir_dead_letters")+" FINAL WHERE "+l.Where(), func(scan func(...any) error) error {
		var d window.DeadLetter
		var outcome, payload, topic string
		var at int64
		var size uint64
		if err := scan(&d.Epoch, &d.Partition, &d.Offset, &outcome, &d.Reason, &at, &payload, &size, &topic); err != nil {
			return err
		}
		d.Time, d.Size = event.Time(at), int(size)
		for f := range window.Outcomes {
			if f.String() == outcome {
				d.Outcome = f
			}
		}
		var err error
		d.Payload, err = hex.DecodeString(payload)
		if topic != sinktest.Topic {
			t.Errorf("dead letter of topic %q", topic)
		}
		c.Dead[memory.DeadKey{Epoch: d.Epoch, Partition: d.Partition, Offset: d.Offset}] = d
		return err
	})
	return c
}

// rows reads the state table with merging SQL, as a user would.
func (b *backend) rows(t *testing.T, l *schema.Layout, c *memory.Contents) {
	t.Helper()
	sql := "SELECT toInt64(toUnixTimestamp(window_start)) * 1000, [" + strings.Join(l.Keys(), ", ") + "], maxMap(hits)"
	var measures []*schema.Measure
	for m := range l.Counted {
		sql += ", hex(" + m.Bytes(m.Merge(m.Stored())) + ")"
		measures = append(measures, m)
	}
	b.each(t, sql+" FROM "+b.c.Name(l.StateTable())+" GROUP BY "+l.Groups()+"window_start", func(scan func(...any) error) error {
		var start int64
		var groups []string
		hits := map[uint64]uint64{}
		states := make([]string, len(measures))
		to := []any{&start, &groups, &hits}
		for i := range states {
			to = append(to, &states[i])
		}
		if err := scan(to...); err != nil {
			return err
		}
		row := &memory.Row{Hits: map[window.Slot]uint64{}, States: map[string]memory.State{}}
		for slot, n := range hits {
			row.Hits[window.Slot(slot)] = n
		}
		for i, m := range measures {
			state, err := hex.DecodeString(states[i])
			if err != nil {
				return err
			}
			if state, err = m.Measure.Merge(state); err != nil { // the server may encode the same state in other bytes
				return err
			}
			row.States[m.Name] = memory.State{Of: &m.Measure, Bytes: state}
		}
		key := memory.Key{Window: event.Time(start), Group: strings.Join(groups, "\x00") + "\x00"}
		if c.Rows[key] != nil {
			t.Errorf("two shards have rows of %v", key)
		}
		c.Rows[key] = row
		return nil
	})
}

func (b *backend) ledger(t *testing.T, l *schema.Layout, c *memory.Contents) {
	t.Helper()
	sql := "SELECT epoch, toInt32(partition), toInt64(chunk), toInt64(first), toInt64(next), toUnixTimestamp64Milli(watermark), hex(topic_id), slot, saved"
	for f := range window.Outcomes {
		sql += ", " + f.String()
	}
	for _, name := range schema.EventColumns() {
		sql += ", " + name
	}
	b.each(t, sql+" FROM "+b.c.Name("weir_ledger")+" FINAL WHERE "+l.Where(), func(scan func(...any) error) error {
		var line window.Line
		var mark int64
		var id string
		var slot uint64
		to := []any{&line.Epoch, &line.Partition, &line.Chunk, &line.First, &line.Next, &mark, &id, &slot, &line.Saved}
		for f := range line.Outcomes {
			to = append(to, &line.Outcomes[f])
		}
		for _, n := range schema.EventNumbers(&line) {
			to = append(to, n)
		}
		if err := scan(to...); err != nil {
			return err
		}
		line.Watermark = event.Time(mark)
		if window.Slot(slot) != line.Slot() {
			t.Errorf("slot %x of line %v, want %x", slot, line, line.Slot())
		}
		_, err := hex.Decode(line.TopicID[:], []byte(id))
		c.Ledger[memory.LineKey{Epoch: line.Epoch, Partition: line.Partition, Chunk: line.Chunk, First: line.First}] = line
		return err
	})
}

func (b *backend) each(t *testing.T, sql string, row func(scan func(...any) error) error) {
	t.Helper()
	if err := b.c.Shards.QueryFor(t.Context(), "read back", sql, row); err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
}

func (b *backend) View(t *testing.T, spec *window.Spec, length event.Time) map[memory.Key]memory.Numbers {
	t.Helper()
	return b.view(t, plan(t, suiteJob(spec)), length)
}

func (b *backend) Rolled(t *testing.T, spec *window.Spec, length event.Time) map[memory.Key]memory.Numbers {
	t.Helper()
	l := plan(t, suiteJob(spec))
	return b.numbers(t, l, b.c.Name(l.Levels[0].Table)+" FINAL", b.each)
}

func (b *backend) view(t *testing.T, l *schema.Layout, length event.Time) map[memory.Key]memory.Numbers {
	t.Helper()
	each := b.each
	if b.before != nil {
		b.before(t, l)
		b.c.Wide = true
		defer func() { b.c.Wide = false }()
		each = func(t *testing.T, sql string, row func(scan func(...any) error) error) {
			t.Helper()
			if err := b.c.Query(t.Context(), "read a view", sql, row); err != nil {
				t.Fatalf("%v\n%s", err, sql)
			}
		}
	}
	i := slices.IndexFunc(l.Levels, func(v schema.Level) bool { return v.Seconds*1000 == int64(length) })
	from := b.c.Name(l.Levels[i].View)
	if slices.ContainsFunc(l.Measures, func(m schema.Measure) bool { return m.SQL != nil && m.SQL.ViewType != "" }) {
		from = "(" + numbersOf(b.c, l, i) + ")"
	}
	return b.numbers(t, l, from, each)
}

// numbers reads finished numbers from a view or a rollup.
func (b *backend) numbers(t *testing.T, l *schema.Layout, from string, each func(t *testing.T, sql string, row func(scan func(...any) error) error)) map[memory.Key]memory.Numbers {
	t.Helper()
	sql := "SELECT toInt64(toUnixTimestamp(window_start)) * 1000, [" + strings.Join(l.Keys(), ", ") + "], hits"
	var names []string
	for m := range l.Counted {
		sql += ", " + m.Rank(m.Column())
		names = append(names, m.Name)
	}
	view := map[memory.Key]memory.Numbers{}
	each(t, sql+" FROM "+from, func(scan func(...any) error) error {
		var start int64
		var groups []string
		n := memory.Numbers{Measures: map[string]uint64{}}
		numbers := make([]uint64, len(names))
		to := []any{&start, &groups, &n.Hits}
		for i := range numbers {
			to = append(to, &numbers[i])
		}
		err := scan(to...)
		for i, name := range names {
			n.Measures[name] = numbers[i]
		}
		key := memory.Key{Window: event.Time(start), Group: strings.Join(groups, "\x00") + "\x00"}
		if _, twice := view[key]; twice {
			t.Errorf("%v stands twice in the view", key)
		}
		view[key] = n
		return err
	})
	return view
}

// numbersOf returns the statement of a view that shows the numbers themselves where the view
// shows something else of them, such as the text of a last value.
func numbersOf(c *Client, l *schema.Layout, i int) string {
	plain := *l
	plain.Measures = slices.Clone(l.Measures)
	for n := range plain.Measures {
		if m := &plain.Measures[n]; m.SQL != nil && m.SQL.ViewType != "" {
			k := *m.SQL
			k.View, k.ViewType, k.Parts = "%s", "", nil
			m.SQL = &k
		}
	}
	return schema.Render("view", plain.Level(c.DB, i))
}

func (b *backend) exec(t *testing.T, sql string) {
	t.Helper()
	on := b.c.Shards
	if strings.Contains(sql, schema.LedgerTable) {
		on = b.c.Home()
	}
	if err := b.c.ExecOn(t.Context(), on, "damage", sql, await.Never); err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
}

func (b *backend) row(key memory.Key) string {
	g := key.Groups()
	return fmt.Sprintf("window_start = toDateTime(%d, 'UTC') AND page = %s AND country = %s", key.Window/1000, wire.Text(g[0]), wire.Text(g[1]))
}

func (b *backend) DeleteRow(t *testing.T, spec *window.Spec, key memory.Key) {
	t.Helper()
	b.exec(t, "ALTER TABLE "+b.c.Name("suite_state")+" DELETE WHERE "+b.row(key)+" SETTINGS mutations_sync = 1")
}

func (b *backend) DeleteRollup(t *testing.T, spec *window.Spec, length event.Time) {
	t.Helper()
	l := plan(t, suiteJob(spec))
	i := slices.IndexFunc(l.Levels, func(v schema.Level) bool { return v.Seconds*1000 == int64(length) })
	b.exec(t, "TRUNCATE TABLE "+b.c.Name(l.Levels[i].Table))
}

func (b *backend) Repair(t *testing.T, spec *window.Spec) {
	t.Helper()
	s, err := b.Open(t, spec)
	if err != nil {
		t.Fatal(err)
	}
	steps := 0
	done, err := s.(*Sink).Repair(t.Context(), 0, 0, func(string, int, int) { steps++ })
	if err != nil || len(done) != 2 || steps < 3 {
		t.Fatalf("repaired %v in %d steps, %v", done, steps, err)
	}
}

func (b *backend) RaiseSlot(t *testing.T, spec *window.Spec, key memory.Key, slot window.Slot) {
	t.Helper()
	b.exec(t, fmt.Sprintf("INSERT INTO %s (page, country, window_start, hits) SELECT page, country, window_start, map(%d, maxMap(hits)[%d] + 1) FROM %s WHERE %s GROUP BY page, country, window_start",
		b.c.Name("suite_state"), uint64(slot), uint64(slot), b.c.Name("suite_state"), b.row(key)))
}

func (b *backend) DeleteLine(t *testing.T, spec *window.Spec, key memory.LineKey) {
	t.Helper()
	b.exec(t, fmt.Sprintf("ALTER TABLE %s DELETE WHERE job = 'suite' AND epoch = %d AND partition = %d AND chunk = %d AND first = %d SETTINGS mutations_sync = 1",
		b.c.Name("weir_ledger"), key.Epoch, key.Partition, key.Chunk, key.First))
}

func (b *backend) ChangeLine(t *testing.T, spec *window.Spec, line window.Line) {
	t.Helper()
	set := []string{}
	for f, n := range line.Outcomes {
		set = append(set, fmt.Sprintf("%d AS %s", n, window.Outcome(f)))
	}
	for i, n := range schema.EventNumbers(&line) {
		set = append(set, fmt.Sprintf("%d AS %s", *n, schema.EventColumns()[i]))
	}
	b.exec(t, fmt.Sprintf("INSERT INTO %s (job, version, epoch, partition, chunk, first, next, %s) SELECT 'suite', %d, %d, %d, %d, %d, %d, %s",
		b.c.Name("weir_ledger"), outcomes(), spec.Version, line.Epoch, line.Partition, line.Chunk, line.First, line.Next, strings.Join(set, ", ")))
}

func outcomes() string {
	var names []string
	for f := range window.Outcomes {
		names = append(names, f.String())
	}
	names = append(names, schema.EventColumns()...)
	return strings.Join(names, ", ")
}
