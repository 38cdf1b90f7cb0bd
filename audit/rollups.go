package audit

import (
	"weir/event"
	"weir/window"
)

// A Scope selects the windows of rollups that an audit compares: those that begin in
// [From, Until), where a zero bound means none. Measures are compared only in windows
// that end after Measures.
type Scope struct{ From, Until, Measures event.Time }

// Compared is a window and group of a rollup. The audit compares it with the rows that
// it is made from: state rows, or rows of the next shorter rollup.
type Compared struct {
	Length event.Time // of the rollup's windows, ms
	Start  event.Time // ms
	Group  string     // the texts of its columns, separated by spaces
	Whole  bool       // no row can have expired
	Due    bool       // the rollup should have all of the rows by now

	// Ahead is how far the sink's clock is behind the times of the rows, in ms, if w is not
	// Whole for this reason: nothing says for how long the rows have been as they are.
	Ahead event.Time
}

// Window compares the events that the rollup holds with those of the rows. It
// reports whether to compare the measures as well: if the scope includes them, and
// the events are equal. If they are not, the measures differ for the same reason: also
// where that is no fault, because the rollup is not due, and some numbers, such as a mean,
// fall when events are added. Window ignores a window outside the scope.
func (a *Audit) Window(w Compared, rolled, rows uint64) bool {
	if w.Start < a.Scope.From || a.Scope.Until > 0 && w.Start >= a.Scope.Until {
		return false
	}
	a.looked.Windows++
	return a.compare(w, Finding{}, rolled, rolled, rows) && rolled == rows && w.Start+w.Length > a.Scope.Measures
}

// Measure compares the numbers of a measure, as window.Row.Number returns them. The
// rollup has two: its finished number and the number of its state. least and most are
// the lesser and the greater of these; rows is the number of the rows.
func (a *Audit) Measure(w Compared, m *window.Measure, least, most, rows uint64) {
	a.compare(w, Finding{Measure: m.Name, Of: m}, least, most, rows)
}

func (a *Audit) compare(w Compared, of Finding, least, most, rows uint64) (ok bool) {
	f := a.of(Behind)
	f.Length, f.Window, f.Group, f.Measure, f.Of = w.Length, w.Start, w.Group, of.Measure, of.Of
	switch {
	case least < rows && w.Due:
		f.Expected, f.Found = rows, least
	case rows < most && w.Whole:
		f.Class, f.Expected, f.Found = Lost, most, rows
	case rows < most && w.Ahead > 0:
		if a.ahead.last != w {
			a.ahead.windows++
		}
		a.ahead.by, a.ahead.last = max(a.ahead.by, w.Ahead), w
		return false
	default:
		return true
	}
	a.found = append(a.found, f)
	return false
}
