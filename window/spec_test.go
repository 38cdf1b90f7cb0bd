package window_test

import (
	"bytes"
	"math/rand/v2"
	"testing"

	"weir/event"
	. "weir/window"
)

// TestValidate: a spec made by hand that would stop an operator is refused before a record is read.
func TestValidate(t *testing.T) {
	if err := clicks().Validate(); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*Spec){
		"measure without a field":           func(s *Spec) { s.Measures[0].Path = "" },
		"a kind that there is not":          func(s *Spec) { s.Measures[0].Kind = nil },
		"a chunk that is no power of 2":     func(s *Spec) { s.Chunk = 3 },
		"a window of half a second":         func(s *Spec) { s.Window = 500 },
		"a time field of the unit record":   func(s *Spec) { s.TimeUnit = event.RecordTime },
		"a throttle that lets none through": func(s *Spec) { s.Throttle = &Throttle{Path: "page", Per: 1000} },
		"a funnel that never runs off": func(s *Spec) {
			s.Throttle = &Throttle{Path: "page", Per: 1 << 40, Limit: 1, Burst: 1 << 40, Funnel: true}
		},
		"a filter without an error":      func(s *Spec) { s.Dedupe = &Dedupe{Path: "page"} },
		"arrays of events, large chunks": func(s *Spec) { s.Each, s.Chunk = "batch", 2*MaxEachChunk },
	} {
		s := clicks()
		spoil(s)
		if err := s.Validate(); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// TestMeasureMerge: Measure.Merge merges states as a table does.
func TestMeasureMerge(t *testing.T) {
	s := clicks()
	log := map[int32][]event.Record{0: logOf(rand.New(rand.NewPCG(6, 6)), 400)}
	end := log[0][len(log[0])-1].Offset + 1
	halves := []*Changes{whole(t, s, log, end/2), whole(t, s, log, end)}
	for _, c := range halves {
		c.Table.Seal()
	}
	merged := 0
	for row := range halves[0].Table.Rows {
		other, ok := halves[1].Table.Find(row.Window(), row.Group(nil))
		if !ok {
			t.Fatalf("%d %q is not in the whole", row.Window(), row.Group(nil))
		}
		for m := range s.Measures {
			measure := &s.Measures[m]
			if measure.Kind.ByMember {
				continue
			}
			got, err := measure.Merge(row.AppendState(nil, m), other.AppendState(nil, m))
			if err != nil {
				t.Fatal(err)
			}
			// The half is in the whole already.
			if want := other.AppendState(nil, m); !bytes.Equal(got, want) {
				t.Errorf("%s of %d %q merges to %x, want %x", measure.Name, row.Window(), row.Group(nil), got, want)
			}
			if n, err := measure.Number(got); err != nil || n != other.Number(m) {
				t.Errorf("%s of %d %q is %d (%v), want %d", measure.Name, row.Window(), row.Group(nil), n, err, other.Number(m))
			}
			if other.Number(m) > 0 {
				merged++
			}
		}
	}
	if merged < 100 {
		t.Fatalf("only %d merged: the test tests nothing", merged)
	}
	for m := range s.Measures {
		if _, err := s.Measures[m].Merge([]byte{9, 9, 9}); err == nil {
			t.Errorf("%s takes anything for a state", s.Measures[m].Name)
		}
	}
}
