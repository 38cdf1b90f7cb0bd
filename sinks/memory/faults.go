package memory

// An Insert is one attempt to store rows, as a fault hook sees it.
type Insert struct {
	Job   string
	Table string // state, places, dead or ledger
	Rows  int
}

// An Outcome is what becomes of an insert. The zero Outcome is success.
type Outcome struct {
	Keep int  // with Fail: how many of the rows are stored all the same, from the first
	Fail bool // the answer is an error
	Late bool // nothing is stored now; all of it is when Land is called
}

// Refuse stores nothing and says so.
func Refuse() Outcome { return Outcome{Fail: true} }

// Lose stores everything and answers with an error.
func Lose(in Insert) Outcome { return Outcome{Fail: true, Keep: in.Rows} }

// Partial stores the first n rows and answers with an error.
func Partial(n int) Outcome { return Outcome{Fail: true, Keep: n} }

// Delay answers with an error and stores everything later.
func Delay() Outcome { return Outcome{Fail: true, Late: true} }

// Faults sets what decides over every insert from now on; nil: all succeed.
// It is called with the store locked.
func (s *Store) Faults(decide func(Insert) Outcome) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = decide
}

// Pending is the number of inserts that have yet to land.
func (s *Store) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending)
}

// Land stores the i-th of the inserts that were delayed.
func (s *Store) Land(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	land := s.pending[i]
	s.pending = append(s.pending[:i], s.pending[i+1:]...)
	land()
}

// insert stores rows, each of which is a function that merges one, as the fault
// hook decides.
func (s *Store) insert(in Insert, rows []func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	in.Rows = len(rows)
	if in.Rows == 0 {
		return nil
	}
	var o Outcome
	if s.faults != nil {
		o = s.faults(in)
	}
	keep := in.Rows
	switch {
	case o.Late:
		keep = 0
		s.pending = append(s.pending, func() { apply(rows) })
	case o.Fail:
		keep = max(0, min(o.Keep, in.Rows))
	}
	apply(rows[:keep])
	if o.Fail {
		return errFault
	}
	return nil
}

func apply(rows []func()) {
	for _, merge := range rows {
		merge()
	}
}
