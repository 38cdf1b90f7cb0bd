package window_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"weir/event"
	"weir/measures/ordered"
	. "weir/window"
)

// TestBlocks: each event of a block has its own values, also where these are no views of its record, where they are so
// long that blocks end early, and where a record has more events than a block. Expected is what encoding/json reads.
func TestBlocks(t *testing.T) {
	s := pageSpec()
	s.By = []Dimension{{Name: "user", Path: "user"}, {Name: "page", Path: "[page] lower"}, {Name: "site", Path: "site"}}
	s.Where = []Condition{{Path: "user", NotIn: []string{"uä5"}}, {Path: "note", Prefix: []string{"\n"}}}
	s.Measures = []Measure{{Name: "last", Kind: ordered.Last, Path: "name", Optional: true}}
	for _, sizes := range [][]int{nil, {1, 3, 0, 1500, 700, 1, 512, 513, 40}} {
		var records []event.Record
		groups, last := map[string]uint64{}, map[string]string{}
		var malformed, filtered uint64
		add := func(value []byte) {
			records = append(records, event.Record{Offset: int64(len(records)), Time: 1_763_600_000_000, Value: value})
		}
		doc := func(i int) []byte {
			name, note := fmt.Sprintf(`N\u00e4me %d`, i), `\n`
			if i%1000 == 641 {
				name += strings.Repeat(`\u0041`, MaxValue)
			}
			if i%50 == 20 {
				note = strings.Repeat(note, 10_000)
			}
			body := fmt.Sprintf(`{"ts":1763600000000,"page":"P\u0061GE %d","user":"u\u00e4%d","name":"%s","site":"s\u00efte","note":"%s"}`, i%30, i%13, name, note)
			var read struct{ Page, User, Name string }
			if err := json.Unmarshal([]byte(body), &read); err != nil {
				t.Fatal(err)
			}
			switch group := read.User + "/" + strings.ToLower(read.Page) + "/sïte"; {
			case i%1100 == 1033:
				malformed++
				return []byte(`{"ts":"\u0030","note":"\n"}`)
			case read.User == "uä5":
				filtered++
			case len(read.Name) <= MaxValue:
				groups[group]++
				last[group] = read.Name
			default:
				malformed++
			}
			return []byte(body)
		}
		n := 0
		for _, size := range sizes {
			var docs [][]byte
			for ; size > 0; size-- {
				docs = append(docs, doc(n))
				n++
			}
			add(slices.Concat([]byte(`{"site":"s\u00efte","batch":[`), bytes.Join(docs, []byte(",")), []byte(`]}`)))
			s.Each, s.Chunk, s.By[2].Path = "batch", 1<<13, "record:site"
		}
		for ; sizes == nil && n < 3000; n++ {
			add(doc(n))
		}
		op := newOperator(t, s)
		op.Start(Plan{})
		observe(t, op, event.Batch{Next: int64(len(records)), Records: records})
		c := op.Take()
		if sizes == nil {
			c.Events.By = [Gap]uint64(c.Outcomes[:Gap])
		} else if reason := c.Dead[0].Reason; !strings.HasSuffix(reason, "event 638 of 1500 in the record, which has 1 more that are late, future or malformed") {
			t.Errorf("dead letter %q", reason)
		}
		if got := c.Events.By; got[Malformed] != malformed || got[Filtered] != filtered || malformed < 2 || filtered < 10 {
			t.Errorf("events %v, want %d malformed and %d filtered", got, malformed, filtered)
		}
		c.Table.Seal()
		for r := range c.Table.Rows {
			group := string(bytes.Join(r.Group(nil), []byte("/")))
			for _, got := range r.Hits {
				if got != groups[group] {
					t.Errorf("%s: %d events, want %d", group, got, groups[group])
				}
			}
			if state := r.AppendState(nil, 0); !bytes.HasSuffix(state, []byte(last[group])) {
				t.Errorf("%s: last %.50q, want %.50q", group, state, last[group])
			}
			delete(groups, group)
		}
		if len(groups) > 0 {
			t.Errorf("no rows of %v", groups)
		}
	}
}

// called counts the calls of an intake.
type called struct {
	Intake
	n *int
}

func (c called) Read(d *Decoder, at int, events []Entry) { *c.n++; c.Intake.Read(d, at, events) }

// TestIntakeOncePerBlock: an intake is called for blocks of events, and never for each event.
func TestIntakeOncePerBlock(t *testing.T) {
	s, n := pageSpec(), 0
	kind, intake := *s.Measures[0].Kind, s.Measures[0].Kind.Intake
	kind.Intake = func(s *Spec, m *Measure, also []int) Intake { return called{intake(s, m, also), &n} }
	s.Measures[0].Kind = &kind
	op := newOperator(t, s)
	op.Start(Plan{})
	if observe(t, op, traffic(5000)...); n != (5000+BlockSize-1)/BlockSize {
		t.Errorf("%d reads of 5,000 events", n)
	}
}
