package config

import (
	"slices"
	"strings"

	"weir/measures"
	"weir/window"
)

// A Measure is one value per window and group, such as a sketch.
type Measure struct {
	Name     string   `yaml:"name" required:"true" format:"name" doc:"Name of the column."`
	Kind     string   `yaml:"kind" required:"true" enum:"(measures)" doc:"(measures)"`
	Field    []string `yaml:"field" required:"true" when:"(measures)" max:"8" format:"path" doc:"Path of the id, or of the number or value that is kept; or several: the first that is there and neither null nor an empty text."`
	Apply    []string `yaml:"apply" max:"4" enum:"(functions)" doc:"Functions to apply to the id (with geo, to the member), in this order: see [functions](#functions)."`
	Where    []Where  `yaml:"where" max:"16" like:"where" doc:"Count only events that meet every condition. Others count in hits and in the other measures, just not here, and need not have the field."`
	Capacity int      `yaml:"capacity" required:"true" when:"(measures)" min:"1" max:"100000000" doc:"Distinct ids per window and group for which the error holds."`
	Error    float64  `yaml:"error" default:"0.01" when:"(measures)" min:"0.000001" max:"0.5"`
	Member   []string `yaml:"member" required:"true" when:"(measures)" max:"8" format:"path" doc:"Path of the id of the member at the position."`
	Lon      []string `yaml:"lon" required:"true" when:"(measures)" max:"8" format:"path" doc:"Path of the longitude in degrees."`
	Lat      []string `yaml:"lat" required:"true" when:"(measures)" max:"8" format:"path" doc:"Path of the latitude in degrees."`
	Scale    int      `yaml:"scale" default:"0" when:"(measures)" min:"0" max:"18" doc:"Digits after the point that a number may have; the sum is exact. An event whose number has more digits is malformed, and so is one of more than 18 digits, those after the point included."`
	Round    bool     `yaml:"round" default:"false" when:"(measures)" doc:"Round a number of more digits than scale, half to even, as 59.970000000000006 that a program has added up; such an event is not malformed."`
	Bad      string   `yaml:"bad" enum:"skip" doc:"With skip an event whose value the measure cannot take counts in hits and in the other measures, just not here; weir counts such values. Otherwise the event is malformed. A value that is missing is no bad one: see optional."`
	K        int      `yaml:"k" default:"10" when:"(measures)" min:"1" max:"1000" doc:"How many values are shown."`
	Default  *string  `yaml:"default" when:"(measures)" format:"any" doc:"Value for events in which the field is missing or null, as zeros are that a producer leaves out; functions are not applied to it. Instead of optional."`
	Optional bool     `yaml:"optional" default:"false" doc:"An event without the field (missing or null) counts in hits and in the other measures, just not here. Otherwise it is malformed. With geo that also holds for an event that has no member, or neither lon nor lat; an event with only one of the two is malformed."`
}

func measureNames() (names []string) {
	for _, k := range measures.All {
		names = append(names, k.Name)
	}
	return names
}

// measureDoc returns the description of all kinds for the reference.
func measureDoc() string {
	var abouts []string
	for _, k := range measures.All {
		abouts = append(abouts, k.Name+" "+k.Config.About)
	}
	return either(measureNames()) + ". " + strings.Join(abouts, "; ") + "."
}

// ofKinds completes a key that only some kinds have, by what each says of it.
func (k *key) ofKinds() {
	k.when.sibling = "kind"
	for _, kind := range measures.All {
		if about, has := kind.Config.Keys[k.name]; has {
			k.when.values, k.doc = append(k.when.values, kind.Name), strings.TrimSpace(k.doc+" "+about)
		}
	}
}

// kind returns the measure's kind. Load has checked that there is one.
func (m *Measure) kind() measures.Kind {
	return measures.All[slices.IndexFunc(measures.All, func(k measures.Kind) bool { return k.Name == m.Kind })]
}

// WindowKind returns the measure's kind in package window. Load has checked the measure.
func (m *Measure) WindowKind() *window.Kind { return m.kind().Kind }

// spec returns the measure in the form of package window. Keys of other kinds are zero.
func (m *Measure) spec() window.Measure {
	w := window.Measure{
		Name: m.Name, Kind: m.WindowKind(), Path: fieldOf(slices.Concat(m.Field, m.Member), m.Apply), Where: conditions(m.Where), Optional: m.Optional,
		Capacity: m.Capacity, Error: m.Error, Lon: fieldOf(m.Lon, nil), Lat: fieldOf(m.Lat, nil), Scale: m.Scale, Round: m.Round, Bad: m.Bad, K: m.K,
	}
	if m.Default != nil {
		w.Default, w.HasDefault = *m.Default, true
	}
	return w
}

// measure checks what the keys of a measure say together.
func (v *validator) measure(at string, m *Measure) {
	k, w := m.kind().Config, m.spec()
	if m.Capacity > 0 {
		v.filter(at+".capacity", m.Capacity, m.Error, "window and group")
	}
	v.must(k.Most == 0 || m.Error >= k.Least && m.Error <= k.Most, at+".error", "%v is out of range; give it %v to %v", m.Error, k.Least, k.Most)
	if m.Default == nil || !v.must(!m.Optional, at+".default", "an event without the field counts with the default, so optional has no use; keep one of the two") {
		return
	}
	wrong := w.CheckDefault()
	v.must(wrong == "", at+".default", "%q %s; write one that the measure can take, a number like 10, -0.5 or 1e6", *m.Default, wrong)
}
