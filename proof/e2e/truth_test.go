package e2e

import (
	"bytes"
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"weir/demo/gen"
	"weir/event"
	"weir/internal/await"
	"weir/sketches/geo"
	"weir/sketches/hll"
)

// union is the truth about several streams of one topic. Without dedupe the
// answers simply add up; with it the streams must have no event in common.
func union(truths ...*gen.Truth) *gen.Truth {
	all := gen.NewTruth(truths[0].Rules)
	for _, t := range truths {
		all.Outcomes.Valid += t.Outcomes.Valid
		all.Outcomes.Malformed += t.Outcomes.Malformed
		all.Outcomes.Late += t.Outcomes.Late
		all.Outcomes.Future += t.Outcomes.Future
		all.Outcomes.Duplicate += t.Outcomes.Duplicate
		for g, c := range t.Counts {
			gen.Merge(all.Counts, g, c)
		}
		for m, p := range t.Places {
			if last, ok := all.Places[m]; !ok || p.Stamp >= last.Stamp {
				all.Places[m] = p
			}
		}
	}
	return all
}

// differences collects what does not match and shows the first few.
type differences struct {
	what string
	n    int
	text strings.Builder
}

func (d *differences) add(format string, args ...any) {
	if d.n++; d.n <= 5 {
		fmt.Fprintf(&d.text, "\n  "+format, args...)
	}
}

func (d *differences) report(t *testing.T) {
	t.Helper()
	if d.n > 0 {
		t.Error(d)
	}
}

func (d *differences) String() string {
	return fmt.Sprintf("%s: %d differences:%s", d.what, d.n, d.text.String())
}

func (s *stage) cell(row []string) gen.Group {
	s.t.Helper()
	return gen.Group{Window: event.Time(1000 * integer(s.t, row[0])), Name: row[1]}
}

// eachGroup has compare look at each row of a window and a group, and notes rows of groups
// that are not there and groups without a row.
func (s *stage) eachGroup(d *differences, rows [][]string, truth *gen.Truth, compare func(g gen.Group, want *gen.Count, row []string)) {
	s.t.Helper()
	for _, row := range rows {
		g := s.cell(row)
		if want := truth.Counts[g]; want != nil {
			compare(g, want, row)
		} else {
			d.add("%v: an unknown group", g)
		}
	}
	if len(rows) != len(truth.Counts) {
		d.add("%d windows and groups, want %d", len(rows), len(truth.Counts))
	}
}

// reference is the sketch that a Redis would have made of the same ids.
func reference(users map[uint32]int64) *hll.Sketch {
	var h hll.Sketch
	for u := range users {
		h.Add(strconv.AppendUint(nil, uint64(u), 10))
	}
	return &h
}

// A tally is how far counts are off, all windows and groups together.
type tally struct {
	counted, lost, doubled int64
}

func (y *tally) add(have, want int64) {
	y.counted += have
	y.lost += max(0, want-have)
	y.doubled += max(0, have-want)
}

// sameView compares a view with the truth, per window and group: hits, users as PFCOUNT
// would count them, and the measures of ofUsers.
func (s *stage) sameView(view, group string, truth *gen.Truth) {
	s.t.Helper()
	d, _ := s.compareView(view, group, truth, func(_ gen.Group, c *gen.Count) uint64 { return reference(c.Users).Count() })
	d.report(s.t)
}

// compareView is sameView that returns the numbers, and takes the answers of
// PFCOUNT.
func (s *stage) compareView(view, group string, truth *gen.Truth, pfcount func(gen.Group, *gen.Count) uint64) (*differences, tally) {
	s.t.Helper()
	d := &differences{what: view + " against the truth"}
	var y tally
	seen := make(map[gen.Group]bool)
	for _, row := range s.sql("SELECT toUnixTimestamp(window_start), %s, hits, users, %s FROM %s", group, columnsOfUsers(), view) {
		g := s.cell(row)
		want := truth.Counts[g]
		switch {
		case seen[g]:
			d.add("%v: twice", g)
		case want == nil:
			d.add("%v: %s hits of an unknown group", g, row[2])
			y.add(integer(s.t, row[2]), 0)
		default:
			hits := integer(s.t, row[2])
			y.add(hits, want.Hits)
			if hits != want.Hits {
				d.add("%v: %d hits, want %d", g, hits, want.Hits)
			}
			if users, pf := integer(s.t, row[3]), int64(pfcount(g, want)); users != pf {
				d.add("%v: %d users, PFCOUNT says %d", g, users, pf)
			}
			for i, m := range ofUsers {
				if wrong := m.wrong(want, row[4+i]); wrong != "" {
					d.add("%v: %s: %s", g, m.name, wrong)
				}
			}
		}
		seen[g] = true
	}
	for _, g := range truth.Groups() {
		if !seen[g] {
			d.add("%v: missing, want %d hits", g, truth.Counts[g].Hits)
			y.add(0, truth.Counts[g].Hits)
		}
	}
	return d, y
}

// sameSketches compares the users' states in a table, merged by group, with
// the reference register by register: the Redis strings have to be equal.
func (s *stage) sameSketches(table, column, group string, truth *gen.Truth) {
	s.t.Helper()
	s.compareSketches(table, column, group, truth).report(s.t)
}

func (s *stage) compareSketches(table, column, group string, truth *gen.Truth) *differences {
	s.t.Helper()
	d := &differences{what: column + " in " + table + " against Redis' bytes"}
	rows := s.sql("SELECT toUnixTimestamp(window_start), %s, hex(uniqCombined64MergeState(14)(%s)), weirPfCount(uniqCombined64MergeState(14)(%s)) FROM %s GROUP BY window_start, %s", group, column, column, table, group)
	s.eachGroup(d, rows, truth, func(g gen.Group, want *gen.Count, row []string) {
		state, err := hex.DecodeString(row[2])
		if err != nil {
			s.t.Fatal(err)
		}
		var have hll.Sketch
		if n, err := have.MergeClickHouse(state); err != nil || n != len(state) {
			d.add("%v: a state of %d bytes of which %d were read: %v", g, len(state), n, err)
			return
		}
		ref := reference(want.Users)
		if !bytes.Equal(have.AppendRedis(nil, 3000), ref.AppendRedis(nil, 3000)) {
			d.add("%v: other registers: %d users, want %d", g, have.Count(), ref.Count())
		}
		if pf := integer(s.t, row[3]); pf != int64(ref.Count()) {
			d.add("%v: weirPfCount is %d, PFCOUNT %d", g, pf, ref.Count())
		}
	})
	return d
}

// sameBitmaps compares the activity bitmaps with the ids, as sets.
func (s *stage) sameBitmaps(table, column, group string, truth *gen.Truth) {
	s.t.Helper()
	s.compareBitmaps(table, column, group, truth).report(s.t)
}

func (s *stage) compareBitmaps(table, column, group string, truth *gen.Truth) *differences {
	s.t.Helper()
	d := &differences{what: column + " in " + table + " against the ids"}
	rows := s.sql("SELECT toUnixTimestamp(window_start), %s, arrayStringConcat(arraySort(bitmapToArray(groupBitmapMergeState(%s))), ' ') FROM %s GROUP BY window_start, %s", group, column, table, group)
	s.eachGroup(d, rows, truth, func(g gen.Group, want *gen.Count, row []string) {
		var ids []string
		for _, u := range slices.Sorted(maps.Keys(want.Users)) {
			ids = append(ids, strconv.Itoa(int(u)))
		}
		if row[2] != strings.Join(ids, " ") {
			d.add("%v: other members: %d, want %d", g, 1+strings.Count(row[2], " "), len(ids))
		}
	})
	return d
}

// samePlaces compares the last positions.
func (s *stage) samePlaces(view string, truth *gen.Truth) {
	s.t.Helper()
	d := differences{what: view + " against the truth"}
	defer d.report(s.t)
	rows := s.sql("SELECT toUnixTimestamp(window_start), member, toUnixTimestamp64Milli(ts), score, lon, lat, geohash FROM %s", view)
	for _, row := range rows {
		who := gen.Member{Window: event.Time(1000 * integer(s.t, row[0])), User: uint32(integer(s.t, row[1]))}
		want, ok := truth.Places[who]
		if !ok {
			d.add("%v: at a place, and was nowhere", who)
			continue
		}
		score, ok := geo.Encode(want.Lon, want.Lat)
		if !ok {
			s.t.Fatalf("no score of %v", want)
		}
		lon, err1 := strconv.ParseFloat(row[4], 64)
		lat, err2 := strconv.ParseFloat(row[5], 64)
		if err1 != nil || err2 != nil {
			s.t.Fatal(err1, err2)
		}
		switch {
		case integer(s.t, row[2]) != int64(want.Stamp):
			d.add("%v: of %s, want %d", who, row[2], want.Stamp)
		case row[3] != strconv.FormatUint(score, 10):
			d.add("%v: score %s, want %d", who, row[3], score)
		case math.Abs(lon-want.Lon) > 1e-5 || math.Abs(lat-want.Lat) > 1e-5:
			d.add("%v: at %v, %v, want %v, %v", who, lon, lat, want.Lon, want.Lat)
		case row[6] != string(geo.AppendHashOf(nil, score)):
			d.add("%v: geohash %s, want %s", who, row[6], geo.AppendHashOf(nil, score))
		}
	}
	if len(rows) != len(truth.Places) {
		d.add("%d members, want %d", len(rows), len(truth.Places))
	}
}

// sameOutcomes compares ledger and dead letters with the truth, and both with
// the rows.
func (s *stage) sameOutcomes(job string, truth *gen.Truth) {
	s.t.Helper()
	s.sameLedger(job, truth)
	s.adds(job)
}

// sameLedger compares ledger and dead letters with the truth.
func (s *stage) sameLedger(job string, truth *gen.Truth) {
	s.t.Helper()
	f := truth.Outcomes
	row := s.sql("SELECT sum(counted), sum(malformed), sum(late), sum(future), sum(duplicate), sum(gap), sum(next - first) FROM weir_ledger FINAL WHERE job = '%s'", job)[0]
	all := f.Valid + f.Malformed + f.Late + f.Future + f.Duplicate
	if got, want := strings.Join(row, " "), fmt.Sprint(f.Valid, f.Malformed, f.Late, f.Future, f.Duplicate, 0, all); got != want {
		s.t.Errorf("%s: counted, malformed, late, future, duplicate, gap and offsets in the ledger: %s, want %s", job, got, want)
	}
	dead := map[string]int64{}
	for _, row := range s.sql("SELECT outcome, count() FROM weir_dead_letters FINAL WHERE job = '%s' GROUP BY outcome", job) {
		dead[row[0]] = integer(s.t, row[1])
	}
	want := map[string]int64{"malformed": f.Malformed, "late": f.Late, "future": f.Future}
	maps.DeleteFunc(want, func(_ string, n int64) bool { return n == 0 })
	if !maps.Equal(dead, want) {
		s.t.Errorf("%s: dead letters %v, want %v", job, dead, want)
	}
	if n := s.number("SELECT count() FROM weir_dead_letters WHERE job = '%s' AND reason = ''", job); n != 0 {
		s.t.Errorf("%s: %d dead letters without a reason", job, n)
	}
}

// adds compares rows with ledger, slot by slot, and the figures of each line,
// as weir_audit does, but without its delay.
func (s *stage) adds(job string) {
	s.t.Helper()
	s.compareBooks(job).report(s.t)
}

func (s *stage) compareBooks(job string) *differences {
	s.t.Helper()
	d := &differences{what: job + ": rows against ledger"}
	for _, row := range s.sql(`SELECT slot, sum(held), sum(counted) FROM (
			SELECT arrayJoin(CAST(hits, 'Array(Tuple(UInt64, UInt64))')) AS pair, pair.1 AS slot, pair.2 AS held, 0 AS counted
			FROM (SELECT maxMap(hits) AS hits FROM %[1]s_state GROUP BY window_start, %[2]s)
			UNION ALL SELECT (0, 0), slot, 0, counted FROM weir_ledger FINAL WHERE job = '%[1]s'
		) GROUP BY slot HAVING sum(held) != sum(counted)`, job, map[string]string{"clicks": "page", "locations": "cell"}[job]) {
		d.add("slot %s: rows hold %s, the ledger counted %s", row[0], row[1], row[2])
	}
	if bad := s.sql("SELECT partition, chunk, first, next FROM weir_ledger FINAL WHERE job = '%s' AND next - first != counted + late + future + malformed + duplicate + filtered + throttled + gap", job); len(bad) > 0 {
		d.add("lines whose outcomes do not add up to their offsets: %v", bad)
	}
	return d
}

// rested waits until an audit covers everything: it leaves out what was written
// in the last ten seconds. age is how old the newest line is, in seconds, by
// the engine's clock.
func rested(t *testing.T, age func() int64) {
	t.Helper()
	const judged = 12
	idle(func() {
		await.Until(t, func() error {
			left := judged - age()
			if left <= 0 {
				return nil
			}
			time.Sleep(time.Duration(left) * time.Second) // no question finds it older sooner
			return notYet("the last line was %d s old", judged-left)
		})
	})
}

// newest is the statement that answers how old the newest row of a table is.
func newest(table string) string {
	return "SELECT toInt64(toUInt32(now())) - toInt64(toUInt32(max(flushed_at))) FROM " + table
}

// audited waits until audits cover the last rows. Then weir_audit must be
// empty, and weir verify must find nothing.
func (s *stage) audited() {
	s.t.Helper()
	rested(s.t, func() int64 { return s.number("%s", newest("weir_ledger")) })
	if found := s.sql("SELECT job, kind, partition, chunk, expected, found, detail FROM weir_audit"); len(found) > 0 {
		s.t.Errorf("weir_audit: %v", found)
	}
	if p := s.weir("verify"); p.wait() != 0 {
		s.t.Errorf("weir verify:\n%s%s", p.out.tail(10), p.log.tail(3))
	}
}

// sameClicks compares everything about a clicks job.
func (s *stage) sameClicks(truth *gen.Truth) {
	s.t.Helper()
	s.sameOutcomes("clicks", truth)
	s.sameView("clicks_1m", "page", truth)
	s.sameSketches("clicks_state", "users", "page", truth)
	s.sameBitmaps("clicks_state", "active", "page", truth)
}

// rollup is a truth in longer windows.
func rollup(t *gen.Truth, window event.Time) *gen.Truth {
	rules := t.Rules
	rules.Window = window
	long := gen.NewTruth(rules)
	long.Outcomes = t.Outcomes
	for g, c := range t.Counts {
		gen.Merge(long.Counts, gen.Group{Window: g.Window - g.Window%window, Name: g.Name}, c)
	}
	for m, p := range t.Places {
		who := gen.Member{Window: m.Window - m.Window%window, User: m.User}
		if last, ok := long.Places[who]; !ok || p.Stamp >= last.Stamp {
			long.Places[who] = p
		}
	}
	return long
}
