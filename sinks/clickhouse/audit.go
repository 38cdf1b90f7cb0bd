package clickhouse

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"weir/event"
	"weir/window"
)

// quiet is how long something must not have been written for the audit to look
// at it: a flush writes rows before it writes the lines that speak of them.
const quiet = 10 * time.Second

// auditView is the statement of weir_audit, over all jobs of the database.
func (c *Client) auditView(jobs []registered) string {
	d := auditData{c: c, Quiet: int(quiet.Seconds())}
	for _, r := range jobs {
		d.Jobs = append(d.Jobs, auditJob{c, r})
	}
	return render("audit", d)
}

// auditData is what the template of weir_audit sees.
type auditData struct {
	c     *Client
	Quiet int
	Jobs  []auditJob
}

func (d auditData) View() string      { return d.c.name("weir_audit") }
func (d auditData) OnCluster() string { return d.c.onCluster() }
func (d auditData) Ledger() string    { return d.c.name("weir_ledger") }

// Others is the sum of all fates but counted.
func (d auditData) Others() string {
	var sum []string
	for f := window.Counted + 1; f < window.Fates; f++ {
		sum = append(sum, "max(_l."+quote(f.String())+")")
	}
	return strings.Join(sum, " + ")
}

// auditJob is one job there, as it stands in weir_jobs.
type auditJob struct {
	c *Client
	r registered
}

func (j auditJob) Name() string    { return j.r.job }
func (j auditJob) Version() uint32 { return j.r.version }
func (j auditJob) Rollup() string  { return j.c.name(j.r.rollup) }

func (j auditJob) State() string {
	base := j.r.job
	if j.r.version > 1 {
		base += "_v" + strconv.Itoa(int(j.r.version))
	}
	return j.c.name(base + "_state")
}

func (j auditJob) Groups() string {
	var b strings.Builder
	for _, g := range j.r.groups {
		b.WriteString(quote(g) + ", ")
	}
	return b.String()
}

// GroupText is the group as one text.
func (j auditJob) GroupText() string {
	if len(j.r.groups) == 0 {
		return "''"
	}
	quoted := make([]string, len(j.r.groups))
	for i, g := range j.r.groups {
		quoted[i] = quote(g)
	}
	return "arrayStringConcat([" + strings.Join(quoted, ", ") + "], ' ')"
}

// Start is the rollup's window of a state row.
func (j auditJob) Start() string {
	return fmt.Sprintf("toDateTime(intDiv(toUnixTimestamp(window_start), %d) * %d, 'UTC')", j.r.seconds, j.r.seconds)
}

// Horizon is how far back, in seconds, state rows are certainly still there:
// what began before may have lost rows to the TTL. A quarter of it, up to a
// day, is left for a rollup that was late.
func (j auditJob) Horizon() uint32 { return j.r.keep - min(j.r.keep/4, 86400) }

// Audit holds the ledger against the state rows, and the state rows against the
// first rollup, and calls found for everything that does not add up. Days are
// read one after another, so that a server with little memory can answer;
// after each, progress is told how many are done. Windows outside [from, until)
// are not compared with their rollup; a zero bound is none. Chunks that began
// longer ago than state rows are kept are not compared with their rows, because
// some may have expired; nor is what was written in the last seconds.
//
// What Kafka still holds is not looked at: compare with Audited.Reached.
func (s *Sink) Audit(ctx context.Context, from, until event.Time, found func(window.Finding) error, progress func(done, total int)) (window.Audited, error) {
	a := window.NewAudit(s.layout.Spec)
	d := verifyData{levelData: levelData{c: s.client, l: s.layout, v: &s.layout.levels[0], First: true}}
	now, days, err := s.days(ctx, d)
	if err != nil {
		return a.Result(), err
	}
	d.settled = now - int64(s.quiet.Seconds())
	d.horizon = now - int64(auditJob{s.client, s.layout.register()[0]}.Horizon())
	steps := len(days) + 1
	report := func(done int) {
		if progress != nil {
			progress(done, steps)
		}
	}
	// Rows first, lines then: a line that grows in between is newer than now,
	// and left out.
	for i, day := range days {
		d.day = day
		if err := s.auditRows(ctx, a, d); err != nil {
			return a.Result(), err
		}
		if start := event.Time(day) * 1000; (until == 0 || start < until) && (from == 0 || start+dayMillis > from) {
			if err := s.auditWindows(ctx, a, d, from, until); err != nil {
				return a.Result(), err
			}
		}
		report(i + 1)
	}
	if err := s.auditLines(ctx, a, d); err != nil {
		return a.Result(), err
	}
	report(steps)
	for f := range a.Findings {
		if err := found(f); err != nil {
			return a.Result(), err
		}
	}
	return a.Result(), nil
}

const dayMillis = 86_400_000

// verifyData is what the templates of Audit see: one day of a job.
type verifyData struct {
	levelData
	day              int64 // its start, in seconds
	settled, horizon int64
}

// Day bounds the windows. Settled is the latest time of writing that is judged,
// Horizon the earliest.
func (d verifyData) Day() string {
	return fmt.Sprintf("window_start >= toDateTime(%d, 'UTC') AND window_start < toDateTime(%d, 'UTC')", d.day, d.day+86400)
}

func (d verifyData) Settled() string { return fmt.Sprintf("toDateTime(%d, 'UTC')", max(d.settled, 0)) }
func (d verifyData) Horizon() string { return fmt.Sprintf("toDateTime(%d, 'UTC')", max(d.horizon, 0)) }

func (d verifyData) GroupText() string {
	return auditJob{d.c, d.l.register()[0]}.GroupText()
}

// Fates are the sums of the ledger's columns.
func (d verifyData) Fates() string {
	var list []string
	for f := range window.Fates {
		list = append(list, "max(_l."+quote(f.String())+")")
	}
	return strings.Join(list, ", ")
}

// days are the server's time and the days that state rows or rollup have.
func (s *Sink) days(ctx context.Context, d verifyData) (now int64, days []int64, err error) {
	err = s.client.query(ctx, "list the days", render("verify_days", d), func(scan func(...any) error) error {
		var day int64
		err := scan(&now, &day)
		days = append(days, day)
		return err
	})
	if err == nil && days == nil {
		err = s.client.query(ctx, "ask the time", "SELECT toInt64(toUnixTimestamp(now()))", func(scan func(...any) error) error { return scan(&now) })
	}
	return now, days, err
}

func (s *Sink) auditRows(ctx context.Context, a *window.Audit, d verifyData) error {
	return s.client.queryFor(ctx, "sum the state rows", render("verify_rows", d), func(scan func(...any) error) error {
		var slot, hits uint64
		var settled uint8
		err := scan(&slot, &hits, &settled)
		a.Hits(window.Slot(slot), hits, settled == 1)
		return err
	})
}

func (s *Sink) auditWindows(ctx context.Context, a *window.Audit, d verifyData, from, until event.Time) error {
	if 86400%d.v.seconds != 0 {
		return nil // its windows do not fit into days
	}
	return s.client.queryFor(ctx, "compare the rollup", render("verify_windows", d), func(scan func(...any) error) error {
		var start int64
		var group string
		var rolled, held uint64
		err := scan(&start, &group, &rolled, &held)
		if t := event.Time(start) * 1000; t >= from && (until == 0 || t < until) {
			a.Window(t, group, rolled, held)
		}
		return err
	})
}

func (s *Sink) auditLines(ctx context.Context, a *window.Audit, d verifyData) error {
	return s.client.queryFor(ctx, "read the ledger", render("verify_lines", d), func(scan func(...any) error) error {
		var l window.Line
		var partition uint16
		var chunk, first, next uint64
		var comparable uint8
		to := []any{&l.Epoch, &partition, &chunk, &first, &next, &comparable}
		for f := range l.Fates {
			to = append(to, &l.Fates[f])
		}
		err := scan(to...)
		l.Partition, l.Chunk, l.First, l.Next = int32(partition), int64(chunk), int64(first), int64(next)
		a.Line(&l, comparable == 1)
		return err
	})
}
