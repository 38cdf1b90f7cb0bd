package config

import "weir/window"

// SumKeys are the keys of sum and avg measures.
type SumKeys struct {
	Scale int `yaml:"scale" default:"0" when:"kind=sum,avg" min:"0" max:"9" doc:"Digits after the point that a number may have; the sum is exact. An event whose number has more digits is malformed, and so is one of more than 18 digits, those after the point included."`
}

var (
	sumMeasure = measureKind{
		Kind:   window.Sum,
		about:  "adds up a number, exactly",
		number: true,
		spec:   scaled,
	}
	avgMeasure = measureKind{
		Kind:   window.Avg,
		about:  "keeps the mean of a number",
		number: true,
		spec:   scaled,
	}
)

func scaled(m *Measure, w *window.Measure) { w.Scale = m.Scale }
