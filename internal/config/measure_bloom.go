package config

import "weir/window"

// BloomKeys are the keys of bloom measures.
type BloomKeys struct {
	Capacity int `yaml:"capacity" required:"true" when:"kind=bloom" min:"1" max:"100000000" doc:"Distinct ids per window and group for which the error holds."`
}

var bloomMeasure = measureKind{
	Kind:  window.Bloom,
	about: "answers whether an id was seen",
	spec:  func(m *Measure, w *window.Measure) { w.Capacity, w.Error = m.Capacity, m.Error },
	judge: func(v *validator, at string, m *Measure) {
		v.filter(at+".capacity", m.Capacity, m.Error, "window and group")
	},
}
