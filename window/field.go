package window

import (
	"slices"

	"weir/event"
)

// A derived field is one that the scanner does not find by a path: the first of several,
// or the result of functions.
type derived struct {
	field event.Field
	at    []int // index in a row of the value of each path
}

// fields has every field that a spec reads: first the paths, which the scanner
// finds, then the derived ones.
type fields struct {
	paths   []string
	derived []derived
	names   []string // of paths and derived fields, in words
	at      map[string]int
	uses    []int // of paths: how many texts of the spec have it
}

// index returns the index in a row of a field of the spec; -1 for none.
func (f *fields) index(field string) int {
	if field == "" {
		return -1
	}
	return f.at[field]
}

// time returns the index in a row of the time of events; -1 if it is that of the record.
func (f *fields) time(s *Spec) int {
	if at, ok := f.at[timeList+s.TimeField]; ok {
		return at
	}
	return f.index(s.TimeField)
}

// timeList stands in front of a list of times, which may also be the list of another field.
const timeList = "time of "

// Framed reports whether each record names its schema.
func (s *Spec) Framed() bool { return s.Format.HasSchema() && s.Schema == "" }

// form says how the records are read.
func (s *Spec) form() event.Form {
	return event.Form{Format: s.Format, Framed: s.Framed(), Glue: s.Glue, Keyed: s.Keyed, Columns: s.Columns, Each: s.Each}
}

// columns returns the names of the columns that the job reads, in the order of the columns,
// and the index of each.
func (s *Spec) columns() (names []string, at []int) {
	f, err := readFields(s)
	if err != nil { // the decoder reports it
		return nil, nil
	}
	for i, name := range s.Columns {
		if slices.ContainsFunc(f.paths, func(p string) bool { return !event.InEnvelope(p) && event.Column(s.Columns, p) == i }) {
			names, at = append(names, name), append(at, i)
		}
	}
	return names, at
}

// ReadsEnvelope reports whether the job reads the keys or the headers of records.
func (s *Spec) ReadsEnvelope() bool {
	f, err := readFields(s)
	return s.Framed() || err == nil && slices.ContainsFunc(f.paths, event.InEnvelope)
}

// readFields collects the fields of a spec.
func readFields(s *Spec) (*fields, error) {
	texts := []string{s.TimeField}
	var conditions func(all []Condition)
	conditions = func(all []Condition) {
		for i := range all {
			c := &all[i]
			texts = append(texts, c.Path)
			conditions(c.Any)
			conditions(c.All)
			if c.Not != nil {
				conditions([]Condition{*c.Not})
			}
		}
	}
	for _, c := range s.By {
		texts = append(texts, c.Path, c.Lon, c.Lat)
	}
	for i := range s.Measures {
		m := &s.Measures[i]
		texts = append(append(texts, m.Path), m.paths()...)
		conditions(m.Where)
	}
	conditions(s.Where)
	if s.Dedupe != nil {
		texts = append(texts, s.Dedupe.Path)
	}
	if s.Throttle != nil {
		texts = append(texts, s.Throttle.Path)
	}

	f := &fields{at: map[string]int{}}
	path := func(path string) int {
		i, ok := f.at[path]
		if !ok {
			i = len(f.paths)
			f.at[path] = i
			f.paths, f.uses = append(f.paths, path), append(f.uses, 0)
		}
		f.uses[i]++
		return i
	}
	var later []string
	for i, text := range texts {
		if text == "" || slices.Contains(later, text) {
			continue
		}
		read, err := event.ParseField(text)
		if err != nil {
			return nil, err
		}
		var at []int
		for _, p := range read.Paths {
			at = append(at, path(p))
		}
		if read.String() != read.Paths[0] {
			if read.Time = i == 0; read.Time {
				text = timeList + text
			}
			later = append(later, text)
			f.derived = append(f.derived, derived{read, at})
		}
	}
	for _, path := range f.paths {
		f.names = append(f.names, event.PathText(path))
	}
	for i, text := range later {
		f.at[text] = len(f.names)
		f.names = append(f.names, f.derived[i].field.Words())
	}
	return f, nil
}

// derive computes the derived fields of the live events.
func (d *Decoder) derive() {
	if d.derived != nil {
		for _, e := range d.live {
			d.deriveRow(d.row(e))
		}
	}
}

func (d *Decoder) deriveRow(row []event.Value) {
	for i := range d.derived {
		f := &d.derived[i]
		row[d.scanned+i] = d.reader.First(&f.field, row, f.at)
	}
}
