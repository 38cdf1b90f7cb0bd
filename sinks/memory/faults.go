package memory

// An Insert is one attempt to store rows, as the function that Faults sets sees it.
type Insert struct {
	Job   string
	Table string // state, places, dead or ledger
	Rows  int
}

// A Fault says what goes wrong with an insert. The zero Fault is success.
type Fault struct {
	Keep int  // with Fail: how many of the rows are stored all the same, from the first
	Fail bool // the answer is an error
	Late bool // nothing is stored now; all rows are stored when Land is called
}

// Refuse stores nothing and answers with an error.
func Refuse() Fault { return Fault{Fail: true} }

// Lose stores everything and answers with an error.
func Lose(in Insert) Fault { return Fault{Fail: true, Keep: in.Rows} }

// Partial stores the first n rows and answers with an error.
func Partial(n int) Fault { return Fault{Fail: true, Keep: n} }

// Delay answers with an error and stores everything later.
func Delay() Fault { return Fault{Fail: true, Late: true} }

// Faults sets the function that decides about every insert from now on; nil: all
// succeed. The store calls it while it is locked.
func (s *Store) Faults(decide func(Insert) Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = decide
}

// Pending returns the number of inserts that have yet to land.
func (s *Store) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.pending)
}

// Land stores the rows of the i-th delayed insert.
func (s *Store) Land(i int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	land := s.pending[i]
	s.pending = append(s.pending[:i], s.pending[i+1:]...)
	land()
}

// insert stores rows as s.faults decides. Each row is a function that merges it.
func (s *Store) insert(in Insert, rows []func()) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	in.Rows = len(rows)
	if in.Rows == 0 {
		return nil
	}
	var o Fault
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
