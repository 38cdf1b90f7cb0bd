package config

import (
	"fmt"
	"slices"
	"strings"

	"weir/window"
)

// A Measure is one value per window and group, such as a sketch. The keys that only one kind of measure
// has are in the kind's file.
type Measure struct {
	Name  string   `yaml:"name" required:"true" format:"name" doc:"Name of the column."`
	Kind  string   `yaml:"kind" older:"sketch" required:"true" enum:"(measures)" doc:"(measures)"`
	Field []string `yaml:"field" required:"true" when:"kind!=geo" max:"8" format:"path" doc:"Path of the id, or of the number or value that is kept; or several: the first that is there and not null."`
	Apply []string `yaml:"apply" max:"4" enum:"(functions)" doc:"Functions to apply to the id (with geo, to the member), in this order: see [functions](#functions)."`
	Where []Where  `yaml:"where" max:"16" like:"where" doc:"Count only events that meet every condition. Others count in hits and in the other measures, just not here, and need not have the field."`
	BloomKeys
	ErrorKeys
	GeoKeys
	SumKeys
	TopKKeys
	Default  *string `yaml:"default" when:"kind!=geo" format:"any" doc:"Value for events in which the field is missing or null, as zeros are that a producer leaves out; functions are not applied to it. Instead of optional."`
	Optional bool    `yaml:"optional" default:"false" doc:"An event without the field (missing or null) counts in hits and in the other measures, just not here. Otherwise it is malformed. With geo that also holds for an event that has no member, or neither lon nor lat; an event with only one of the two is malformed."`
}

// ErrorKeys are the keys of the kinds whose error can be chosen.
type ErrorKeys struct {
	Error float64 `yaml:"error" default:"0.01" when:"kind=bloom,quantile" min:"0.000001" max:"0.5" bounds:"0.000001 to 0.5 with bloom, 0.001 to 0.3 with quantile" doc:"With bloom, the share of unseen ids that are taken for seen ones. With quantile, how far a quantile may be from the true one, as a share of it: 0.001 to 0.3."`
}

// A measureKind is a kind of measure as a configuration knows it.
type measureKind struct {
	window.Kind
	number bool     // it measures a number, so functions on texts have no use
	plain  bool     // it keeps a text, number or bool as it stands
	about  string   // what it does, for the reference: "counts distinct ids"
	parts  []string // the suffixes of its columns in views, if there is not one without

	// Each of these may be nil.
	spec  func(m *Measure, w *window.Measure)       // fills in what only this kind has
	paths func(m *Measure) []keyPath                // returns the paths that it reads; nil: only that of field
	judge func(v *validator, at string, m *Measure) // reports values that do not fit together
}

// A keyPath is a key and the paths that it names.
type keyPath struct {
	key   string
	paths []string
}

// measureKinds has every kind, in the order of the reference.
var measureKinds = []*measureKind{&hllMeasure, &setMeasure, &bitmapMeasure, &bloomMeasure, &minMeasure, &maxMeasure, &firstMeasure, &lastMeasure, &sumMeasure, &avgMeasure, &quantileMeasure, &topkMeasure, &geoMeasure}

func measureNames() (names []string) {
	for _, k := range measureKinds {
		names = append(names, k.String())
	}
	return names
}

// measureDoc returns the description of all kinds for the reference.
func measureDoc() string {
	var abouts []string
	for _, k := range measureKinds {
		abouts = append(abouts, k.String()+" "+k.about)
	}
	return either(measureNames()) + ". " + strings.Join(abouts, "; ") + "."
}

// kind returns the measure's kind; nil if there is no such kind.
func (m *Measure) kind() *measureKind {
	i := slices.IndexFunc(measureKinds, func(k *measureKind) bool { return k.String() == m.Kind })
	if i < 0 {
		return nil
	}
	return measureKinds[i]
}

// WindowKind returns the measure's kind in package window. Load has checked the measure.
func (m *Measure) WindowKind() window.Kind { return m.kind().Kind }

// reads returns the keys that name a path.
func (m *Measure) reads() []keyPath {
	if k := m.kind(); k.paths != nil {
		return k.paths(m)
	}
	return []keyPath{{"field", m.Field}}
}

// spec returns the measure in the form of package window.
func (m *Measure) spec(job string) (window.Measure, error) {
	k := m.kind()
	if k == nil {
		return window.Measure{}, fmt.Errorf("job %s: no kind %q", job, m.Kind)
	}
	w := window.Measure{Name: m.Name, Kind: k.Kind, Path: fieldOf(m.Field, m.Apply), Where: conditions(m.Where), Optional: m.Optional}
	if m.Default != nil {
		w.Default, w.HasDefault = *m.Default, true
	}
	if k.spec != nil {
		k.spec(m, &w)
	}
	return w, nil
}
