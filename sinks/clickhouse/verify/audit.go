package verify

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"weir/audit"
	"weir/event"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
	"weir/window"
)

// Quiet is the age below which the audit does not judge rows and ledger lines. A flush
// writes the rows of a chunk before its line, so the two may differ while it runs.
const Quiet = 10 * time.Second

// An Auditor compares what is stored of a job.
type Auditor struct {
	client *wire.DB
	layout *schema.Layout
	Quiet  time.Duration
}

// NewAuditor returns the auditor of a job.
func NewAuditor(c *wire.DB, l *schema.Layout) *Auditor { return &Auditor{c, l, Quiet} }

// Audit passes what is stored of the job to a: the counts of the state rows by slot,
// each rollup with the rows it is made from, the ledger, and, if a's scope has no bounds, how
// many events the views show in all. It reads day by day, so
// that a server with little memory can answer, and calls progress after each step.
// Without a From in a's scope, a longer rollup is compared with the shorter one only as
// far back as there are state rows.
//
// It marks as not to be judged: chunks of which state rows may have expired, whatever
// was written in the last seconds or is ahead of the server's clock, windows that a rollup
// no longer keeps, and windows in the live tail.
func (s *Auditor) Audit(ctx context.Context, a *audit.Audit, progress func(done, total int)) error {
	done, err := s.done(ctx) // read before the rows, so that the rollups have all that done says
	if err != nil {
		return err
	}
	d := verifyData{LevelData: s.layout.Local(s.client, 0)}
	now, days, err := s.days(ctx, d)
	if err != nil {
		return err
	}
	at := func(t int64) string { return fmt.Sprintf("toDateTime(%d, 'UTC')", max(t, 0)) }
	within := func(from, until int64) string {
		return "window_start >= " + at(from) + " AND window_start < " + at(until)
	}
	raised := int64(0)
	err = s.client.Home().QueryFor(ctx, "read the job's keep", "SELECT _at FROM ("+schema.RaisedAt(s.client)+") WHERE "+s.layout.Where(), func(scan func(...any) error) error { return scan(&raised) })
	if err != nil {
		return err
	}
	d.Settled = at(now - int64(s.Quiet.Seconds()))
	d.Horizon = at(max(now-schema.Unexpired(int64(s.layout.Keep/time.Second)), raised))
	rounds := func(seconds int64) string { return fmt.Sprint(done[seconds]) }
	var spans []comparison
	for i, v := range s.layout.Levels {
		k := comparison{LevelData: s.layout.Local(s.client, i), Settled: d.Settled, Done: rounds(v.Seconds), Horizon: d.Horizon, ago: func(s int64) string { return at(now - s) }}
		if i > 0 {
			k.Begun = k.begun()
		}
		starts := map[int64]bool{}
		err := s.client.Shards.QueryFor(ctx, "list what to compare", render("verify_spans", k), func(scan func(...any) error) error {
			var start int64
			err := scan(&start)
			starts[start] = true
			return err
		})
		if err != nil {
			return err
		}
		for _, start := range slices.Sorted(maps.Keys(starts)) {
			end := start + k.Step()
			k.Within = within(start, end)
			first, last := event.Time(start)*1000, event.Time(end)*1000
			asked := i == 0 || a.Scope.From > 0 || len(days) > 0 && start < days[len(days)-1]+86400 && end > days[0]
			if asked && (a.Scope.Until == 0 || first < a.Scope.Until) && last > a.Scope.From {
				if i > 0 {
					k.Lacking = k.lacking(rounds)
				}
				k.hits = last <= a.Scope.Measures
				spans = append(spans, k)
			}
		}
	}
	steps := len(days) + len(spans) + 1
	step := 0
	report := func() {
		if step++; progress != nil {
			progress(step, steps)
		}
	}
	// Rows are read before lines: a line that grows in between is newer than settled,
	// and is not judged.
	for _, day := range days {
		d.Day = within(day, day+86400)
		if err := s.auditRows(ctx, a, d); err != nil {
			return err
		}
		report()
	}
	for _, k := range spans {
		if err := s.auditWindows(ctx, a, k); err != nil {
			return err
		}
		report()
	}
	if err := s.auditLines(ctx, a, d); err != nil {
		return err
	}
	if a.Scope.From == 0 && a.Scope.Until == 0 {
		if err := s.auditShown(ctx, a); err != nil {
			return err
		}
	}
	report()
	return nil
}

// auditShown passes the events that the views show in all, which only a rollup that is kept
// for ever can tell. The longest has the fewest rows.
func (s *Auditor) auditShown(ctx context.Context, a *audit.Audit) error {
	for i := len(s.layout.Levels) - 1; i >= 0; i-- {
		v := &s.layout.Levels[i]
		if v.Keep > 0 {
			continue
		}
		events := uint64(0)
		sql := fmt.Sprintf("SELECT sum(hits) FROM (%s) SETTINGS max_bytes_before_external_group_by = %d", render("view", s.layout.Local(s.client, i)), comparison{}.Spill())
		err := s.client.Shards.QueryFor(ctx, "add up the view "+v.View, sql, func(scan func(...any) error) error {
			var n uint64 // of one shard
			err := scan(&n)
			events += n
			return err
		})
		if err != nil || a.Shown(events) {
			return err
		}
	}
	return nil
}

// done returns the round below which each rollup holds every row, by its seconds.
func (s *Auditor) done(ctx context.Context) (map[int64]uint64, error) {
	done := map[int64]uint64{}
	sql := "SELECT toInt64(rollup), max(done) FROM " + s.client.Name("weir_rollups") + " WHERE " + s.layout.Where() + " GROUP BY job, version, rollup"
	err := s.client.Query(ctx, "read the rollups' progress", sql, func(scan func(...any) error) error {
		var seconds int64
		var round uint64
		err := scan(&seconds, &round)
		done[seconds] = round
		return err
	})
	return done, err
}

// verifyData is what the templates of Audit see: one day of a job. Settled and Horizon are the latest and
// the earliest time of writing that is judged.
type verifyData struct {
	schema.LevelData
	Day, Settled, Horizon string // SQL expressions; Day is a condition that selects windows
}

func (d verifyData) Ledger() string { return d.DB.Name(schema.LedgerTable) }

// Outcomes returns the ledger's columns of outcomes, then those of events, each as its greatest
// value.
func (d verifyData) Outcomes() string {
	var list []string
	for f := range window.Outcomes {
		list = append(list, "max(_l."+wire.Quote(f.String())+")")
	}
	for _, name := range schema.EventColumns() {
		list = append(list, "max(_l."+name+")")
	}
	return strings.Join(list, ", ")
}

// days returns the servers' time and the days that have state rows, in order.
func (s *Auditor) days(ctx context.Context, d verifyData) (now int64, days []int64, err error) {
	found := map[int64]bool{}
	err = s.client.Shards.Query(ctx, "list the days", render("verify_days", d), func(scan func(...any) error) error {
		var at, day int64
		err := scan(&at, &day)
		if now == 0 || at < now { // of several servers, the earliest clock
			now = at
		}
		found[day] = true
		return err
	})
	days = slices.Sorted(maps.Keys(found))
	if err == nil && len(days) == 0 {
		err = s.client.Query(ctx, "ask the time", "SELECT toInt64(toUnixTimestamp(now()))", func(scan func(...any) error) error { return scan(&now) })
	}
	return now, days, err
}

func (s *Auditor) auditRows(ctx context.Context, a *audit.Audit, d verifyData) error {
	return s.client.Shards.QueryFor(ctx, "sum the state rows", render("verify_rows", d), func(scan func(...any) error) error {
		var slot, hits uint64
		var settled uint8
		var ahead int64
		err := scan(&slot, &hits, &settled, &ahead)
		a.Hits(window.Slot(slot), hits, settled == 1 || ahead > 0)
		if ahead > 0 {
			a.Ahead(window.Slot(slot), event.Time(ahead)*1000)
		}
		return err
	})
}

func (s *Auditor) auditWindows(ctx context.Context, a *audit.Audit, k comparison) error {
	measures := k.Measures()
	return s.client.Shards.QueryFor(ctx, "compare the rollup "+k.Level.Table, render("verify_windows", k), func(scan func(...any) error) error {
		var start int64
		var group string
		var rolled, held uint64
		var whole, due uint8
		var at []uint8
		var finished, ofState, made []uint64
		var ahead int64
		to := []any{&start, &group, &rolled, &held, &whole, &due, &ahead}
		if len(measures) > 0 {
			to = append(to, &at, &finished, &ofState, &made)
		}
		if err := scan(to...); err != nil {
			return err
		}
		w := audit.Compared{Length: event.Time(k.Seconds()) * 1000, Start: event.Time(start) * 1000, Group: group, Whole: whole == 1, Due: due == 1, Ahead: event.Time(ahead) * 1000}
		if !a.Window(w, rolled, held) {
			return nil
		}
		for i, m := range at {
			a.Measure(w, &measures[m].Measure, min(finished[i], ofState[i]), max(finished[i], ofState[i]), made[i])
		}
		return nil
	})
}

func (s *Auditor) auditLines(ctx context.Context, a *audit.Audit, d verifyData) error {
	return s.lines(ctx, d, func(l *window.Past, comparable bool, ahead int64) {
		a.Line(&l.Line, comparable || ahead > 0)
		switch {
		case ahead > 0:
			a.Ahead(l.Slot(), event.Time(ahead)*1000)
		case l.Open:
			a.Fresh(l.Slot())
		}
	})
}

// lines reads the ledger. A line that was written after d.Settled is open; one that began after
// d.Horizon is comparable with rows, and then ahead says how far the server's clock is behind it.
func (s *Auditor) lines(ctx context.Context, d verifyData, yield func(l *window.Past, comparable bool, ahead int64)) error {
	return s.client.Home().QueryFor(ctx, "read the ledger", render("verify_lines", d), func(scan func(...any) error) error {
		var l window.Past
		var partition uint16
		var chunk, first, next uint64
		var comparable, fresh uint8
		var ahead int64
		var id string
		to := []any{&l.Epoch, &partition, &chunk, &first, &next, &id, (*int64)(&l.Watermark), (*int64)(&l.Began), (*int64)(&l.Flushed), &comparable, &fresh, &ahead}
		for f := range l.Outcomes {
			to = append(to, &l.Outcomes[f])
		}
		for _, n := range schema.EventNumbers(&l.Line) {
			to = append(to, n)
		}
		err := scan(to...)
		if err == nil {
			l.TopicID, err = schema.TopicID(id)
		}
		l.Partition, l.Chunk, l.First, l.Next, l.Open = int32(partition), int64(chunk), int64(first), int64(next), fresh == 1
		yield(&l, comparable == 1, ahead)
		return err
	})
}

// Folds returns what one line of the ledger can stand for, or does. Lines that were written within age stay as
// they are, and so do those with a watermark ahead of the server's clock, which Coverage leaves out.
func (s *Auditor) Folds(ctx context.Context, age, span time.Duration) ([]window.Past, error) {
	now, err := s.client.Clock(ctx)
	if err != nil {
		return nil, err
	}
	f := window.Folder{Chunk: s.layout.Spec.Chunk, Span: event.Time(span.Milliseconds())}
	d := verifyData{LevelData: s.layout.Local(s.client, 0), Horizon: "toDateTime(0)", Settled: fmt.Sprintf("toDateTime(%d)", now.Add(-age).Unix())}
	err = s.lines(ctx, d, func(l *window.Past, _ bool, _ int64) {
		l.Open = l.Open || l.Watermark > event.Time(now.UnixMilli())
		f.Add(*l)
	})
	return f.Folds(), err
}
