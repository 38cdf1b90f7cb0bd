package clickhouse

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"weir/event"
	"weir/window"
)

// TestTopK: what rollups make of top lists, from the states of slots and from those of
// windows, is to the byte what package window makes, with more keys than are listed;
// views show the most frequent keys before and after rollups, and weirTopK those of
// several windows and groups; and a list that was changed by hand is found.
func TestTopK(t *testing.T) {
	c := open(t)
	functionsOn(t, c)
	j := clicks()
	j.Rollups = j.Rollups[:2]
	j.Spec.Chunk = 512
	j.Spec.Measures = []window.Measure{{Name: "products", Kind: window.TopK, Path: "sku", Optional: true, K: 5}}
	s := unasked(t, c, j)
	s.quiet = -time.Hour
	m, spec := newMeasure(s.layout.Spec.Measures[0], 0), s.layout.Spec
	op := operator(t, spec, 0)
	r := rand.New(rand.NewPCG(3, 8))
	zipf := rand.NewZipf(r, 1.05, 1, 300)
	type cell struct {
		page  string
		start int64
	}
	states, exact := map[cell][]byte{}, map[string]uint64{}
	n := int64(0)
	send := func(events int) {
		t.Helper()
		for range events {
			ts, page, sku := int64(noon)+r.Int64N(3)*60_000, fmt.Sprint("/", r.IntN(2)), fmt.Sprintf("ü%d", zipf.Uint64())
			exact[sku]++
			observe(t, op, 0, n, event.Time(ts), fmt.Sprintf(`{"event_id":"e%d","ts":%d,"page":"%s","sku":"%s"}`, n, ts, page, sku))
			n++
		}
		changes := op.Take()
		changes.Table.Seal()
		for row := range changes.Table.Rows {
			at := cell{string(row.Group(nil)[0]), int64(row.Window()) / 1000}
			merged, err := m.Measure.Merge(states[at], row.AppendState(nil, 0))
			if err != nil {
				t.Fatal(err)
			}
			states[at] = merged
		}
		write(t, s, changes)
	}
	same := func(table string, step int64) {
		t.Helper()
		of := map[cell][][]byte{}
		for at, state := range states {
			at.start -= at.start % step
			of[at] = append(of[at], state)
		}
		rows := read(t, c, "SELECT page, toInt64(toUnixTimestamp(window_start)), hex("+m.Bytes("maxMap(products_state)")+"), "+m.Rank(m.Number("maxMap(products_state)"))+" FROM "+c.name(table)+" GROUP BY page, window_start ORDER BY ALL")
		if len(rows) != len(of) {
			t.Errorf("%s has %d rows, want %d", table, len(rows), len(of))
		}
		full := 0
		for at, states := range of {
			total, err := m.Add(states...)
			if err != nil {
				t.Fatal(err)
			}
			if len(total) > 64*(24+4) {
				full++
			}
			number, err := m.Measure.Number(total)
			if err != nil {
				t.Fatal(err)
			}
			want := fmt.Sprintf("('%s',%d,'%X',%d)", at.page, at.start, total, number)
			found := false
			for _, got := range rows {
				found = found || got == want
			}
			if !found {
				t.Errorf("%s has no row %s: %s", table, want, rows)
			}
		}
		if full != len(of) {
			t.Errorf("only %d of %d lists are full: the test tests too little", full, len(of))
		}
	}
	send(4000)
	before := read(t, c, "SELECT page, window_start, products FROM "+c.name("clicks_1m")+" ORDER BY ALL")
	roll(t, s, true)
	same("clicks_1m_rollup", 60)
	same("clicks_1h_rollup", 3600)
	if after := read(t, c, "SELECT page, window_start, products FROM "+c.name("clicks_1m")+" ORDER BY ALL"); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the rollup has %s, the live tail had %s", after, before)
	}
	send(3000)
	tail := read(t, c, "SELECT page, products FROM "+c.name("clicks_1h")+" ORDER BY ALL")
	roll(t, s, true)
	same("clicks_1m_rollup", 60)
	same("clicks_1h_rollup", 3600)
	if after := read(t, c, "SELECT page, products FROM "+c.name("clicks_1h")+" ORDER BY ALL"); fmt.Sprint(after) != fmt.Sprint(tail) {
		t.Errorf("the rollup has %s, the live tail had %s", after, tail)
	}
	if got := one(t, c, "SELECT DISTINCT replaceRegexpAll(toTypeName(products), '\\s+', ' '), length(products) FROM "+c.name("clicks_1h")); got != "('Array(Tuple( key String, count UInt64, error UInt64))',5)" {
		t.Errorf("the view has %s", got)
	}
	const over = "arrayJoin(weirTopK(products_state, 3)) AS e FROM (SELECT page, window_start, maxMap(products_state) AS products_state FROM %s GROUP BY page, window_start)"
	top := read(t, c, "SELECT e.1, e.2, e.3 FROM (SELECT "+fmt.Sprintf(over, c.name("clicks_1m_rollup"))+")")
	if len(top) != 3 {
		t.Errorf("weirTopK: %s", top)
	}
	for _, row := range top {
		var key string
		var least, wrong uint64
		for sku := range exact {
			if k := fmt.Sprintf("('%s',", sku); len(row) > len(k) && row[:len(k)] == k {
				key = sku
				if _, err := fmt.Sscanf(row[len(k):], "%d,%d)", &least, &wrong); err != nil {
					t.Fatal(err)
				}
			}
		}
		if key == "" || exact[key] < least || exact[key] > least+wrong {
			t.Errorf("weirTopK: %s, truth %d", row, exact[key])
		}
	}
	if got := findings(t, s); len(got) > 0 {
		t.Errorf("before damage: %v", got)
	}
	b := &backend{c: c}
	hour := func() string {
		return one(t, c, "SELECT hex("+m.Bytes("maxMap(products_state)")+") FROM "+c.name("clicks_1h_rollup")+" WHERE page = '/0'")
	}
	intact := hour()
	for what, entry := range map[string]string{
		"a key":    "('x', tupleElement(e, 2), tupleElement(e, 3))",
		"a count":  "(tupleElement(e, 1), tupleElement(e, 2) + 1, tupleElement(e, 3))",
		"an error": "(tupleElement(e, 1), tupleElement(e, 2), tupleElement(e, 3) + 1)",
	} {
		changed := "arrayMap((e, i) -> if(i = 1, " + entry + ", e), tupleElement(v, 3), arrayEnumerate(tupleElement(v, 3)))"
		b.exec(t, "ALTER TABLE "+c.name("clicks_1h_rollup")+" UPDATE products_state = mapApply((k, v) -> (k, (tupleElement(v, 1), tupleElement(v, 2), "+changed+")), products_state) WHERE page = '/0' SETTINGS mutations_sync = 1")
		if got := findings(t, s); len(got) != 1 || got[0].Measure != "products" || got[0].Group != "/0 " {
			t.Errorf("%s of a list changed by hand, its events as they were: %v", what, got)
		}
		b.exec(t, "ALTER TABLE "+c.name("clicks_1h_rollup")+" DELETE WHERE page = '/0' SETTINGS mutations_sync = 1")
		if _, err := s.Repair(t.Context(), 0, 0, nil); err != nil {
			t.Fatal(err)
		}
		roll(t, s, true) // what a repair has just made is not judged before
		if is := hour(); is != intact {
			t.Errorf("%s: repaired, the hour has %.300s, had %.300s", what, is, intact)
		}
	}
	b.exec(t, "INSERT INTO "+c.name("clicks_1h_rollup")+" (page, country, window_start, products_state) SELECT '/0', '', window_start, map("+whole+", (9999, 0, [('x', 9999, 0)])) FROM "+c.name("clicks_1h_rollup")+" LIMIT 1")
	if got := findings(t, s); len(got) != 1 || got[0].Measure != "products" || !strings.HasPrefix(got[0].Of.Text(max(got[0].Found, got[0].Expected)), "9999 events") {
		t.Errorf("changed by hand: %v", got)
	}
}
