package e2e

import (
	"encoding/hex"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"

	"weir/demo/gen"
	"weir/sketches/bloom"
	"weir/sketches/histogram"
)

// A measured is a measure of the users' ids, and the check of what a view shows of it.
type measured struct {
	name, keys string // as in a job
	shown      string // what is asked of the column, with %s for its name; "": the column
	// wrong says what is wrong with a value, as text; "": nothing.
	wrong func(c *gen.Count, have string) string
}

// ofUsers has a measure of each kind whose value a view shows, but users and active, whose
// states are compared too. Every job of these tests that has clicks or locations has them.
var ofUsers = []measured{
	{name: "id_sum", keys: "kind: sum", wrong: equal(func(c *gen.Count) int64 { return c.Sum })},
	{name: "id_mean", keys: "kind: avg", wrong: func(c *gen.Count, have string) string {
		mean := float64(c.Sum) / float64(c.Hits)
		if n, err := strconv.ParseFloat(have, 64); err != nil || n != mean {
			return fmt.Sprintf("%s, want %v", have, mean)
		}
		return ""
	}},
	{name: "least", keys: "kind: min", wrong: equal(func(c *gen.Count) int64 { return int64(slices.Min(slices.Collect(maps.Keys(c.Users)))) })},
	{name: "greatest", keys: "kind: max", wrong: equal(func(c *gen.Count) int64 { return int64(slices.Max(slices.Collect(maps.Keys(c.Users)))) })},
	{name: "earliest", keys: "kind: first", wrong: oneOf(func(c *gen.Count) gen.Moment { return c.First })},
	{name: "latest", keys: "kind: last", wrong: oneOf(func(c *gen.Count) gen.Moment { return c.Last })},
	{name: "people", keys: "kind: set", wrong: equal(func(c *gen.Count) int64 { return int64(len(c.Users)) })},
	{name: "spread", keys: "kind: quantile, error: " + strconv.FormatFloat(quantileError, 'g', -1, 64), wrong: wrongQuantiles,
		shown: "concat(toString(%[1]s_p50), ' ', toString(%[1]s_p90), ' ', toString(%[1]s_p95), ' ', toString(%[1]s_p99))"},
	{name: "often", keys: "kind: topk, k: " + strconv.Itoa(shownKeys), wrong: wrongTop,
		shown: "arrayStringConcat(arrayMap(e -> concat(e.key, ' ', toString(e.count), ' ', toString(e.error)), %s), ',')"},
}

const (
	shownKeys     = 20
	quantileError = 0.01
)

// measuresOfUsers returns the lines of ofUsers in a job.
func measuresOfUsers() string {
	var lines strings.Builder
	for _, m := range ofUsers {
		fmt.Fprintf(&lines, "      - {name: %s, field: user_id, %s}\n", m.name, m.keys)
	}
	return lines.String()
}

// columnsOfUsers returns what is asked of a view for ofUsers.
func columnsOfUsers() string {
	var columns []string
	for _, m := range ofUsers {
		if m.shown == "" {
			m.shown = "%s"
		}
		columns = append(columns, fmt.Sprintf(m.shown, m.name))
	}
	return strings.Join(columns, ", ")
}

// equal checks for a number.
func equal(want func(*gen.Count) int64) func(*gen.Count, string) string {
	return func(c *gen.Count, have string) string {
		if want := strconv.FormatInt(want(c), 10); have != want {
			return have + ", want " + want
		}
		return ""
	}
}

// oneOf checks for a user of a moment.
func oneOf(at func(*gen.Count) gen.Moment) func(*gen.Count, string) string {
	return func(c *gen.Count, have string) string {
		want := at(c)
		if n, err := strconv.ParseUint(have, 10, 32); err != nil || !slices.Contains(want.Users, uint32(n)) {
			return fmt.Sprintf("%s, want one of %d at %d ms", have, want.Users, want.Stamp)
		}
		return ""
	}
}

// wrongTop checks the bounds of each key of a top list, its order, and how many there are.
func wrongTop(c *gen.Count, have string) string {
	list := strings.Split(have, ",")
	if want := min(shownKeys, len(c.Users)); len(list) != want {
		return fmt.Sprintf("%d keys, want %d", len(list), want)
	}
	seen, before := map[uint32]bool{}, c.Hits
	for _, text := range list {
		var user uint32
		var count, more int64
		if _, err := fmt.Sscan(text, &user, &count, &more); err != nil {
			return fmt.Sprintf("%q: %v", text, err)
		}
		if n := c.Users[user]; seen[user] || count > before || n < count || n > count+more {
			return fmt.Sprintf("user %d has %d and the error %d, after one with %d; the truth is %d", user, count, more, before, n)
		}
		seen[user], before = true, count
	}
	return ""
}

// wrongQuantiles checks that each of the four quantiles is within the error of the truth.
func wrongQuantiles(c *gen.Count, have string) string {
	texts := strings.Fields(have)
	if len(texts) != 4 {
		return fmt.Sprintf("%q, want four quantiles", have)
	}
	users := slices.Sorted(maps.Keys(c.Users))
	for i, q := range []float64{0.5, 0.9, 0.95, 0.99} {
		at, want := int64(q*float64(c.Hits)), uint32(0)
		for _, want = range users {
			if at -= c.Users[want]; at < 0 {
				break
			}
		}
		if got, err := strconv.ParseFloat(texts[i], 64); err != nil || !(math.Abs(got-float64(want)) <= quantileError*float64(want)) {
			return fmt.Sprintf("quantile %v is %s, want %d", q, texts[i], want)
		}
	}
	return ""
}

// compareHistograms compares the histograms with those of the ids, bucket by bucket.
func (s *stage) compareHistograms(table, column, group string, truth *gen.Truth) *differences {
	s.t.Helper()
	d := &differences{what: column + " in " + table + " against the buckets of the ids"}
	// A word is a bucket above the 32 bits of its count. The count of a bucket is the sum over
	// the words of all slots, of each slot those of its histogram of most events.
	rows := s.sql(`SELECT toUnixTimestamp(window_start), %[1]s, arrayStringConcat(arrayMap((b, n) -> concat(toString(b), ' ', toString(n)), tupleElement(sums, 1), tupleElement(sums, 2)), ',')
		FROM (SELECT window_start, %[1]s, arrayReduce('sumMap', [arrayMap(w -> toUInt32(bitShiftRight(w, 32)), words)], [arrayMap(w -> bitAnd(w, 4294967295), words)]) AS sums
			FROM (SELECT window_start, %[1]s, reinterpret(reverse(arrayStringConcat(tupleElement(mapValues(maxMap(%[2]s)), 2))), 'Array(UInt64)') AS words FROM %[3]s GROUP BY window_start, %[1]s))`, group, column, table)
	layout := histogram.NewLayout(histogram.ScaleFor(quantileError))
	s.eachGroup(d, rows, truth, func(g gen.Group, c *gen.Count, row []string) {
		counts := map[histogram.Bucket]int64{}
		for user, n := range c.Users {
			counts[layout.Of(float64(user))] += n
		}
		var want []string
		for _, b := range slices.Sorted(maps.Keys(counts)) {
			want = append(want, fmt.Sprintf("%d %d", b, counts[b]))
		}
		if want := strings.Join(want, ","); row[2] != want {
			d.add("%v: other buckets: %.200s, want %.200s", g, row[2], want)
		}
	})
	return d
}

// bloomKeys are the keys of a Bloom filter of users in a job.
const (
	bloomCapacity = 2000
	bloomError    = 0.01
)

var bloomOfUsers = fmt.Sprintf("      - {name: seen, kind: bloom, field: user_id, capacity: %d, error: %v}\n", bloomCapacity, bloomError)

// compareFilters compares the Bloom filters with those of the ids, bit by bit.
func (s *stage) compareFilters(table, column, group string, truth *gen.Truth) *differences {
	s.t.Helper()
	d := &differences{what: column + " in " + table + " against the filters of the ids"}
	rows := s.sql("SELECT toUnixTimestamp(window_start), %s, hex(groupBitmapMergeState(%s)) FROM %s GROUP BY window_start, %s", group, column, table, group)
	s.eachGroup(d, rows, truth, func(g gen.Group, want *gen.Count, row []string) {
		state, err := hex.DecodeString(row[2])
		if err != nil {
			s.t.Fatal(err)
		}
		pool := bloom.NewPool(bloomCapacity, bloomError)
		pool.Grow(2)
		if err := pool.MergeClickHouse(0, state); err != nil {
			d.add("%v: %v", g, err)
			return
		}
		for user := range want.Users {
			pool.Add(1, bloom.Hash(strconv.AppendUint(nil, uint64(user), 10)))
		}
		if have, want := pool.AppendClickHouse(nil, 0), pool.AppendClickHouse(nil, 1); string(have) != string(want) {
			d.add("%v: other bits: a state of %d bytes, want %d", g, len(have), len(want))
		}
	})
	return d
}

// TestMeasuresOfUsers: the checks take the truth and nothing near it.
func TestMeasuresOfUsers(t *testing.T) {
	c := &gen.Count{Hits: 6, Sum: 35, Users: map[uint32]int64{7: 3, 4: 2, 6: 1},
		First: gen.Moment{Stamp: 1, Users: []uint32{4, 7}}, Last: gen.Moment{Stamp: 9, Users: []uint32{6}}}
	all := map[string]struct{ right, wrong []string }{
		"id_sum":   {[]string{"35"}, []string{"34", "36", ""}},
		"id_mean":  {[]string{"5.833333333333333"}, []string{"5.833333333333332", "5.84", "nan"}},
		"least":    {[]string{"4"}, []string{"5", "0"}},
		"greatest": {[]string{"7"}, []string{"6", "8"}},
		"earliest": {[]string{"4", "7"}, []string{"6", `\N`}},
		"latest":   {[]string{"6"}, []string{"4", ""}},
		"people":   {[]string{"3"}, []string{"2", "4"}},
		"spread":   {[]string{"7 7 7 7", "6.95 7.05 7 7.01"}, []string{"6 7 7 7", "7 7 7 7.1", "7 7 7", "7 7 7 nan", ""}},
		"often": {[]string{"7 3 0,4 2 0,6 1 0", "7 1 2,4 1 1,6 1 9"},
			[]string{"7 3 0,4 2 0", "7 4 0,4 2 0,6 1 0", "7 2 0,4 2 0,6 1 0", "4 2 0,7 3 0,6 1 0", "7 3 0,7 3 0,6 1 0", "7 3 0,4 2 0,5 1 0", "7 3 0,4 2 0,6 1 0,5 0 0", ""}},
	}
	for _, m := range ofUsers {
		cases := all[m.name]
		if len(cases.right) == 0 || len(cases.wrong) == 0 {
			t.Errorf("%s: no cases", m.name)
		}
		for _, have := range cases.right {
			if wrong := m.wrong(c, have); wrong != "" {
				t.Errorf("%s: %q: %s", m.name, have, wrong)
			}
		}
		for _, have := range cases.wrong {
			if m.wrong(c, have) == "" {
				t.Errorf("%s: %q is not seen to be wrong", m.name, have)
			}
		}
	}
}
