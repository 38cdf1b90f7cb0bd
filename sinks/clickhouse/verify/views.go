package verify

import (
	"embed"
	"fmt"
	"slices"
	"strings"
	"time"

	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/wire"
	"weir/window"
)

//go:embed *.sql
var files embed.FS

// render returns a statement, from the template with its name.
var render = schema.Templates(files)

// ahead returns an expression for how many seconds a time of writing is ahead of the server's
// clock: 0 if it is no more than two clocks that are looked after may differ.
func ahead(written string) string {
	return fmt.Sprintf("if(%[1]s > now('UTC') + 60, toInt64(toUnixTimestamp(%[1]s)) - toInt64(toUnixTimestamp(now())), toInt64(0))", written)
}

func (auditData) Ahead(written string) string  { return ahead(written) }
func (comparison) Ahead(written string) string { return ahead(written) }
func (verifyData) Ahead(written string) string { return ahead(written) }

// AuditViews are the names of weir_audit, over all jobs of the database, and of the views that it reads, which
// come first.
var AuditViews = []string{"weir_audit_states", "weir_audit_rows", "weir_audit"}

// A Job is a job that weir_audit covers.
type Job struct {
	Entry   schema.Entry
	Rollups []schema.Level // shortest first
}

// Views returns the views of weir_audit: none in a database without a job. They do not judge what is younger
// than quiet.
func Views(c *wire.DB, jobs []Job, quiet time.Duration) []schema.View {
	if len(jobs) == 0 {
		return nil
	}
	return auditData{c: c, Quiet: int(quiet.Seconds()), Jobs: jobs}.views()
}

// auditData is what the template of weir_audit sees.
type auditData struct {
	c     *wire.DB
	Quiet int
	Jobs  []Job
}

func (d auditData) views() (all []schema.View) {
	for _, name := range AuditViews {
		all = append(all, schema.View{Name: name, About: "What does not add up: no row is right.", SQL: render(strings.TrimPrefix(name, "weir_"), d)})
	}
	return all
}

func (d auditData) Name(table string) string { return d.c.Name(table) }
func (d auditData) Read(table string) string { return d.c.Reading(table, d.c.Wide) }
func (d auditData) OnCluster() string        { return d.c.OnCluster() }
func (d auditData) Progressed() string       { return schema.Progressed }
func (d auditData) Raised() string           { return schema.RaisedAt(d.c) }
func (d auditData) Foreign() string          { return schema.Foreign() }

// Name is the name of the job.
func (j Job) Name() string { return j.Entry.Job }

// Version is its version.
func (j Job) Version() uint32 { return j.Entry.Version }

// Horizon returns for how many seconds state rows certainly stay: keep, less a margin of a
// quarter of it, at most a day, because a rollup may be late.
func (j Job) Horizon() int64 { return schema.Unexpired(int64(j.Entry.Keep)) }

// A place is a table of a job: its state rows, with 0 seconds, or a rollup. All places have Keys of one length.
type place struct {
	Job
	Place, Last int    // its number from 1, and that of the job's longest rollup
	Table       string // without the database
	From        string // the table as views read it
	Below       string // the rollup that it is made from; empty: state rows
	Seconds     int64
	Age, Whole  int64 // the age of windows that have certainly not expired, 0: any; and Level.WholeSince
	Ago         int64 // only windows that begin so many seconds ago or later can still have state rows; 0: all can
	First       bool  // it is the first one of state rows, or of a rollup
	most        int
}

// Tables returns the places.
func (d auditData) Tables() (all []place) {
	most := 0
	for _, j := range d.Jobs {
		most = max(most, len(j.Entry.Groups))
	}
	for _, j := range d.Jobs {
		p := place{Job: j, Last: len(all) + 1 + len(j.Rollups), Table: j.Entry.Base() + "_state", most: most}
		for i, v := range append([]schema.Level{{}}, j.Rollups...) {
			if i > 0 {
				p.Table, p.Seconds, p.Age, p.Whole = v.Table, v.Seconds, schema.Unexpired(int64(v.Keep/time.Second)), v.WholeSince
			}
			if i > 1 {
				p.Below, p.Ago = j.Rollups[i-2].Table, j.Horizon()+j.Rollups[min(i, len(j.Rollups)-1)].Seconds
			}
			p.Place, p.From = len(all)+1, d.Read(p.Table)
			p.First = !slices.ContainsFunc(all, func(q place) bool { return (q.Seconds > 0) == (p.Seconds > 0) })
			all = append(all, p)
		}
	}
	return all
}

func (p place) Width() int { return len(p.Entry.Groups) }

// Chunk returns how many offsets a chunk has.
func (p place) Chunk() int64 { return window.ChunkOf(p.Entry.Meaning) }

func (p place) Written() string {
	if p.Seconds > 0 {
		return "rolled"
	}
	return "flushed"
}

func (p place) Keys() []string {
	var all []string
	for _, g := range p.Entry.Groups {
		all = append(all, wire.Quote(g))
	}
	return slices.Concat(all, slices.Repeat([]string{"''"}, p.most-len(all)))
}

// Others returns the sum of all outcomes but counted.
func (d auditData) Others() string {
	var sum []string
	for f := window.Counted + 1; f < window.Outcomes; f++ {
		sum = append(sum, "max(_l."+wire.Quote(f.String())+")")
	}
	return strings.Join(sum, " + ")
}

// Events returns the sum of the events by outcome.
func (d auditData) Events() string {
	var sum []string
	for _, name := range schema.EventColumns()[1:] {
		sum = append(sum, "max(_l."+name+")")
	}
	return strings.Join(sum, " + ")
}
