package audit

import (
	"weir/event"
	"weir/window"
)

// A Scope is the windows that an audit holds against their rollups: those that
// begin in [From, Until); a zero bound is none. Of windows that end at Measures or
// before, hits are compared and nothing else.
type Scope struct{ From, Until, Measures event.Time }

// Compared is a window and group of a rollup that is held against the rows it
// is made from: state rows, or those of the rollup before.
type Compared struct {
	Length event.Time // of the rollup's windows, ms
	Start  event.Time // ms
	Group  string     // its columns, a space between them
	Whole  bool       // none of the rows may have expired
	Due    bool       // the rollup ought to hold them all
}

// Window compares the events that the rollup holds with those of the rows. It
// reports whether to compare the measures as well: if the scope includes them, and
// the events add up. If the events do not, the measures differ for the same cause.
// Window ignores a window out of the scope.
func (a *Audit) Window(w Compared, rolled, rows uint64) bool {
	if w.Start < a.Scope.From || a.Scope.Until > 0 && w.Start >= a.Scope.Until {
		return false
	}
	a.looked.Windows++
	return a.compare(w, Finding{}, rolled, rolled, rows) && w.Start+w.Length > a.Scope.Measures
}

// Measure compares what the rollup makes of a measure with what the rows make:
// the least and the most that it says, in its number or in its state, all as
// window.Row.Number has them.
func (a *Audit) Measure(w Compared, m *window.Measure, least, most, rows uint64) {
	a.compare(w, Finding{Measure: m.Name, Of: m.Kind}, least, most, rows)
}

func (a *Audit) compare(w Compared, of Finding, least, most, rows uint64) (ok bool) {
	f := a.of(Behind)
	f.Length, f.Window, f.Group, f.Measure, f.Of = w.Length, w.Start, w.Group, of.Measure, of.Of
	switch {
	case least < rows && w.Due:
		f.Expected, f.Found = rows, least
	case rows < most && w.Whole:
		f.Kind, f.Expected, f.Found = Lost, most, rows
	default:
		return true
	}
	a.found = append(a.found, f)
	return false
}
