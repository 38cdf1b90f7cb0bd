package window

// A Value is what one measure, or Counts, comes to over rows of any windows and groups:
// the measures are merged, or, if their kind is Additive, added up, as counts are.
type Value struct {
	row    Row // the only one of a table that has the measure alone
	m      int
	found  bool
	events uint64 // of Counts
}

// NewValue returns the empty value of measure m, or of Counts.
func NewValue(s *Spec, m int) *Value {
	t := &Table{spec: s}
	if m != Counts {
		t.columns = make([]Column, len(s.Measures))
		t.columns[m] = s.Measures[m].Kind.Column(&s.Measures[m])
		t.columns[m].Grow(1)
	}
	return &Value{row: Row{t, 0}, m: m}
}

// Add takes in what a row has. Of Counts and of an Additive kind no window and group may
// come twice, because their slots would count again.
func (v *Value) Add(r Row) {
	v.found = true
	if v.m == Counts {
		for _, n := range r.Hits {
			v.events += n
		}
		return
	}
	to, from := v.row.t.columns[v.m], r.t.columns[v.m]
	if sum, ok := to.(Adder); ok {
		sum.Plus(0, from, r.i)
	} else {
		to.Merge(0, from, r.i)
	}
}

// AddEvents adds events to a value of Counts.
func (v *Value) AddEvents(n uint64) {
	v.found = true
	v.events += n
}

// Load merges a state, as the sink holds it, of a measure whose kind is not Additive.
func (v *Value) Load(state []byte) error {
	v.found = true
	return v.row.t.columns[v.m].Load(0, state)
}

// Measure returns the index of the measure, or Counts.
func (v *Value) Measure() int { return v.m }

// Found reports whether anything was taken in.
func (v *Value) Found() bool { return v.found }

// Events returns the number of events of a value of Counts.
func (v *Value) Events() uint64 { return v.events }

// Row returns a row that has the value under its measure, and nothing else.
func (v *Value) Row() Row { return v.row }

// Bytes returns about how many bytes the value holds in memory.
func (v *Value) Bytes() int {
	if v.m == Counts {
		return 0
	}
	return v.row.t.columns[v.m].Bytes()
}
