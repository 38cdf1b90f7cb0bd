package config

import (
	"fmt"
	"slices"
	"strings"

	"weir/window"
)

// A Measure is one sketch per window and group. The keys of a kind of measure
// stand in the kind's file.
type Measure struct {
	Name   string `yaml:"name" required:"true" format:"name" doc:"Name of the column."`
	Sketch string `yaml:"sketch" required:"true" enum:"(measures)" doc:"(measures)"`
	Field  string `yaml:"field" required:"true" when:"sketch!=geo" format:"path" doc:"Path of the id, or of the number where one is measured."`
	BloomKeys
	GeoKeys
	Optional bool `yaml:"optional" default:"false" doc:"An event without the field (missing or null) counts in hits and in the other measures, just not here. Otherwise it is malformed. With geo the same goes for an event that has no member, or neither lon nor lat; one of the two alone is malformed."`
}

// A measureKind is what a configuration says of a kind of measure.
type measureKind struct {
	window.Kind
	about string // behind the kind's name: "counts distinct ids"

	// What follows is nil where there is nothing to say.
	spec  func(m *Measure, w *window.Measure)       // fills in what is beyond the field
	paths func(m *Measure) []keyPath                // that it reads; nil: field
	judge func(v *validator, at string, m *Measure) // finds what does not fit together
}

// A keyPath is a key and the path that it names.
type keyPath struct{ key, path string }

// measureKinds are all there are, in the order of the reference.
var measureKinds = []*measureKind{&hllMeasure, &bitmapMeasure, &bloomMeasure, &maxMeasure, &geoMeasure}

func measureNames() (names []string) {
	for _, k := range measureKinds {
		names = append(names, k.String())
	}
	return names
}

// measureDoc says what each kind is.
func measureDoc() string {
	var abouts []string
	for _, k := range measureKinds {
		abouts = append(abouts, k.String()+" "+k.about)
	}
	return either(measureNames()) + ". " + strings.Join(abouts, "; ") + "."
}

// kind is nil if there is no such sketch.
func (m *Measure) kind() *measureKind {
	i := slices.IndexFunc(measureKinds, func(k *measureKind) bool { return k.String() == m.Sketch })
	if i < 0 {
		return nil
	}
	return measureKinds[i]
}

// Kind is what the sketch is to the core. The measure is one that Load has checked.
func (m *Measure) Kind() window.Kind { return m.kind().Kind }

// reads are the keys that name a path.
func (m *Measure) reads() []keyPath {
	if k := m.kind(); k.paths != nil {
		return k.paths(m)
	}
	return []keyPath{{"field", m.Field}}
}

// spec is what the measure means to the core.
func (m *Measure) spec(job string) (window.Measure, error) {
	k := m.kind()
	if k == nil {
		return window.Measure{}, fmt.Errorf("job %s: no sketch %q", job, m.Sketch)
	}
	w := window.Measure{Name: m.Name, Kind: k.Kind, Path: m.Field, Optional: m.Optional}
	if k.spec != nil {
		k.spec(m, &w)
	}
	return w, nil
}
