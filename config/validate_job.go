package config

import (
	"errors"
	"fmt"
	"math/bits"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"time"

	"weir/event"
	"weir/sinks/clickhouse/migrate"
	"weir/sketches/bloom"
	"weir/sketches/limits"
	"weir/window"
)

// job checks one job. Each of its values already has the right form.
func (v *validator) job(path string, j *Job) {
	before := len(v.problems)
	v.windows(path, j)
	v.columns(path, j)
	v.format(path, j)
	table().child("jobs").walk(reflect.ValueOf(j).Elem(), path, func(_ *key, section reflect.Value, at string) {
		switch s := section.Addr().Interface().(type) {
		case *Where:
			v.where(at, s)
		case *Measure:
			v.measure(at, s)
		}
	})
	times, _ := j.Time.paths()
	v.must(j.Time.Date == nil || len(times) == 1, path+".time.field", "date and field make one time together; give one path, that of the time of day")
	if d := j.Dedupe; d != nil {
		bytes := Size(j.Chunk) * 32
		switch {
		case d.Exact:
			v.must(d.Error == 0, path+".dedupe.error", "exact takes no good event for a repeat; leave error out, or exact")
			v.must(bytes <= v.cfg.Memory/4, path+".dedupe.exact", "the ids of %d events are %dMiB per chunk, more than a quarter of memory (%s); take a smaller chunk, or error instead of exact", j.Chunk, bytes>>20, v.cfg.Memory)
		case v.must(j.Each == "", path+".dedupe", "a filter is sized for one event per record; say exact: true, which keeps the ids of as many events as each record has"):
			v.filter(path+".dedupe", j.Chunk, d.Error, "chunk")
		}
	}
	if t := j.Throttle; t != nil && t.Form == "funnel" {
		_, err := limits.NewFunnel(int64(t.Burst), int64(t.Limit), int64(t.Per))
		v.must(err == nil, path+".throttle.limit", "no limiter can keep %d in %s with a burst of %d: more than one in a nanosecond, or a burst that takes more than 36 years to run off; take fewer", t.Limit, t.Per, t.Burst)
	}
	below := 1 << (bits.Len(uint(j.Chunk)) - 1)
	v.must(j.Chunk == below, path+".chunk", "%d is no power of two; try %d or %d", j.Chunk, below, 2*below)
	v.must(!strings.HasPrefix(j.Name, "weir_"), path+".name", "names that begin with weir_ are kept for weir's own tables; choose another name")
	v.must(!versionTail.MatchString(j.Name), path+".name", "names that end like %s are kept for versions of a job; leave the end out and say version", j.Name)
	if len(v.problems) == before {
		v.reads(path, j)
	}
}

var versionTail = regexp.MustCompile(`_v[0-9]+$`)

// windows checks that every rollup consists of whole shorter ones, and that
// rows live until everything that depends on them is made.
func (v *validator) windows(path string, j *Job) {
	const seconds = "%s is no whole number of seconds, which is how finely windows are stored"
	if !v.must(j.Window%second == 0, path+".window", seconds, j.Window) {
		return
	}
	before := j.Window
	for i, r := range j.Rollups {
		at := fmt.Sprintf("%s.rollups[%d].window", path, i)
		if !v.must(r.Window%second == 0, at, seconds, r.Window) ||
			!v.must(r.Window%j.Window == 0, path+".window", "%s does not divide %s; try %s", j.Window, r.Window, tryDivisors(j)) ||
			!v.must(i == 0 || r.Window > before, at, "%s after %s; list each window once, the shortest first", r.Window, before) ||
			!v.must(r.Window%before == 0, at, "%s is no multiple of %s, from which it is made; leave one of them out", r.Window, before) {
			return
		}
		before = r.Window
	}
	const tooShort = "%s is too short to make %s from these rows; at least %s (%[2]s + lateness %[4]s + 1d)"
	least := func(longer Duration) Duration { return longer + j.Lateness + day }
	v.must(j.Keep >= least(before), path+".keep", tooShort, j.Keep, before, wholeDays(least(before)), j.Lateness)
	v.must(!v.given(path+".rollups[0].keep_states"), path+".rollups[0].keep_states", "the shortest rollup has no states; set %s.keep, for the state rows", path)
	for i, r := range j.Rollups {
		at := fmt.Sprintf("%s.rollups[%d]", path, i)
		v.must(r.Keep == 0 || r.Keep >= j.Keep, at+".keep", "%s is shorter than %s.keep (%s), that of the state rows; leave it out for ever", r.Keep, path, j.Keep)
		if i > 0 && i+1 < len(j.Rollups) {
			next := j.Rollups[i+1].Window
			v.must(r.KeepStates >= least(next) || !v.given(at+".keep_states"), at+".keep_states", tooShort, r.KeepStates, next, wholeDays(least(next)), j.Lateness)
		}
	}
}

const second = Duration(time.Second)

// wholeDays rounds up to whole days, which is how people write it.
func wholeDays(d Duration) Duration { return (d + day - 1) / day * day }

// tryDivisors suggests the next shorter and longer window that divides every rollup.
func tryDivisors(j *Job) string {
	var tries [2]string // the shorter, the longer
	for parts := Duration(1); tries[0] == "" && parts <= j.Rollups[0].Window/second; parts++ {
		d := j.Rollups[0].Window / parts
		switch fits := !slices.ContainsFunc(j.Rollups, func(r Rollup) bool { return r.Window%d != 0 || d%second != 0 }); {
		case fits && d < j.Window:
			tries[0] = d.String()
		case fits:
			tries[1] = d.String()
		}
	}
	return either(tries[:])
}

// kept are the names that no column can have. Some are of the columns that weir adds to a job's tables and
// views, and partial of GET w:<job>:partial:now, which says why live answers are partial. The second line has
// those that ClickHouse (26.7) writes into the definition of a table or a view without quotes. At its next
// start it takes them for something else and cannot read the definition: see TestNamesAfterRestart of
// sinks/clickhouse.
var kept = []string{
	"window_start", "window_end", "hits", "flushed_at", "flushed_in", "rolled_at", "rolled_in", "complete", "partial",
	"cube", "false", "inf", "infinity", "nan", "not", "rollup", "top", "true",
}

// IsColumn reports whether a group column and a measure can have a name that no other has.
func IsColumn(name string) bool {
	return checkName(name) == nil && !slices.Contains(kept, name) && !strings.HasSuffix(name, "_state")
}

// columns checks the names of group columns and measures, which share a table.
func (v *validator) columns(path string, j *Job) {
	taken := map[string]string{}
	claim := func(place, name, of string) {
		if v.must(IsColumn(name), path+"."+place+".name", "%s is a name that weir or ClickHouse keeps for itself; choose another name", name) &&
			v.must(taken[name] == "", path+"."+place+".name", "%s names %s already; choose another name", name, taken[name]) {
			taken[name] = place + of
		}
	}
	for i, c := range j.By {
		place := fmt.Sprintf("by[%d]", i)
		at := path + "." + place
		if v.must((c.Field == nil) != (c.Geohash == nil), at, "needs field or geohash, one of the two") &&
			v.must(c.Geohash == nil || c.Apply == nil, at+".apply", "a geohash has no functions; leave apply out") &&
			v.must(c.Name != "" && checkName(c.Name) == nil, at, "needs name (what to call the column; only a plain path of lower-case letters makes one by itself)") {
			claim(place, c.Name, "")
		}
	}
	for i, m := range j.Measures {
		place := fmt.Sprintf("measures[%d]", i)
		claim(place, m.Name, "")
		spec := m.spec()
		for _, suffix := range m.kind().SQL(&spec).Suffixes() {
			claim(place, m.Name+suffix, ", for its column "+m.Name+suffix+",")
		}
	}
}

// A field is a path that a job reads, in the form of package event, and the key that names it.
type field struct{ at, path string }

// fields returns every path that the job reads.
func (j *Job) fields() (all []field) {
	table().child("jobs").walk(reflect.ValueOf(j).Elem(), "", func(k *key, section reflect.Value, at string) {
		for _, c := range k.keys {
			if c.format != "path" {
				continue
			}
			paths := section.FieldByIndex(c.index).Interface().([]string)
			if t, ok := section.Addr().Interface().(*Time); ok && c.name == "field" {
				paths, _ = t.paths()
			}
			for i, p := range paths {
				below := join(at, c.name)
				if len(paths) > 1 {
					below += fmt.Sprintf("[%d]", i)
				}
				all = append(all, field{below, event.ParsePathText(p)})
			}
		}
	})
	return all
}

// reads checks that an operator can read the fields of a job together. An error that is no conflict of two
// says that they are too many.
func (v *validator) reads(path string, j *Job) {
	_, err := window.NewOperator(j.Spec())
	conflict := (*event.PathConflict)(nil)
	if !errors.As(err, &conflict) {
		v.must(err == nil, path, "%v; read fewer fields", errors.Unwrap(err))
		return
	}
	for _, f := range append(j.fields(), field{"each", event.OfRecord + event.ParsePathText(j.Each)}) {
		if slices.Contains([]string{conflict.Path, event.OfRecord + conflict.Path, "key:" + conflict.Path}, f.path) {
			path += "." + f.at
			break
		}
	}
	v.complain(path, "%v; read values inside it only, or leave one of them out", conflict)
}

// filter checks that a Bloom filter has at most 2^32 bits, and that a few of them
// fit into memory. what completes "per" in the message: there is one filter per what.
func (v *validator) filter(at string, capacity int, rate float64, what string) {
	bits, err := bloom.Bits(capacity, rate)
	bytes := Size(bits / 8)
	if v.must(err == nil, at, "%d ids at an error of %v need more than 2^32 bits; take fewer or a larger error", capacity, rate) {
		v.must(bytes <= v.cfg.Memory/4, at, "%d ids at an error of %v are %dMiB per %s, more than a quarter of memory (%s); take fewer or a larger error", capacity, rate, bytes>>20, what, v.cfg.Memory)
	}
}

// tables checks that no two jobs, and no two parts of a job, have a table or
// view of the same name.
func (v *validator) tables() {
	owners := migrate.OwnNames()
	for i := range v.cfg.Jobs {
		j := &v.cfg.Jobs[i]
		l, err := j.Stored(j.Spec()).Plan()
		if v.must(err == nil, j.Place, "%v; rename the measure", err) {
			name, other := owners.Claim(l, j.Place)
			v.must(name == "", j.Place+".name", "%s needs the table or view %s, which %s has already; rename the job or its measure", j.Name, name, other)
		}
	}
}
