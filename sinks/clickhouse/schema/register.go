package schema

import (
	"fmt"

	"weir/sinks/clickhouse/wire"
)

// Entry is a row of weir_jobs: the meaning of a version of a job, or of one
// measure of it.
type Entry struct {
	Job     string
	Version uint32
	Measure string
	Meaning string
	Topic   string
	Keep    uint32
	Groups  []string
	Created int64  // Unix seconds
	Raised  int64  // see RaisedAt; in Unix seconds
	Rollup  string // table of the first rollup…
	Seconds uint32 // …and its window
	Bits    uint64 // for a Bloom measure: the third argument of weirBloomHas
}

// Register returns the rows of the job in weir_jobs: one for the job, then one for each
// measure.
func (l *Layout) Register() []Entry {
	job := Entry{
		Job: l.Spec.Job, Version: uint32(l.Spec.Version), Meaning: l.Spec.Meaning(), Topic: l.Topic,
		Keep: uint32(l.Keep.Seconds()), Rollup: l.Levels[0].Table, Seconds: uint32(l.Levels[0].Seconds),
	}
	for _, c := range l.By {
		job.Groups = append(job.Groups, c.Name)
	}
	rows := []Entry{job}
	for i := range l.Measures {
		m := &l.Measures[i]
		r := job
		r.Measure, r.Meaning = m.Name, m.Meaning()
		if m.SQL != nil {
			r.Bits = m.SQL.Bits
		}
		rows = append(rows, r)
	}
	return rows
}

// Base returns what the names of the job's tables begin with.
func (r Entry) Base() string { return base(r.Job, int(r.Version)) }

// Unexpired returns an age in seconds: what is kept for keep seconds and is younger has certainly not
// expired, and does not soon.
func Unexpired(keep int64) int64 { return keep - min(keep/4, 86400) }

// RaisedAt returns the query for Entry.Raised of all jobs.
func RaisedAt(c *wire.DB) string {
	return "SELECT job, version, " + Raised("_keeps") + " AS _at FROM (SELECT job, version, arraySort(groupArray((created_at, keep))) AS _keeps FROM " + c.Name("weir_jobs") + " WHERE measure = '' GROUP BY job, version)"
}

// Raised returns an SQL expression for that time in seconds, 0 if there was no other keep. keeps is an array of
// the entries of weir_jobs, in order: each keep holds until the next entry; what is younger then lives on.
func Raised(keeps string) string {
	return fmt.Sprintf("greatest(toInt64(0), arrayMax(arrayMap((_was, _is) -> toInt64(toUnixTimestamp(_is.1)) - toInt64(_was.2 - least(intDiv(_was.2, 4), 86400)), arrayPopBack(%[1]s), arrayPopFront(%[1]s))))", keeps)
}

// Progressed follows the name of a rollup's table in the record of a statement that has the
// rollup made anew.
const Progressed = " progress"
