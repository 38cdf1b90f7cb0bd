package config

import "weir/window"

var quantileMeasure = measureKind{
	Kind:   window.Quantile,
	number: true,
	about:  "keeps a histogram of a number, of which every quantile is known within the error",
	spec:   func(m *Measure, w *window.Measure) { w.Error = m.Error },
	parts: func() (all []string) {
		for _, q := range window.QuantilesShown() {
			all = append(all, q.Suffix)
		}
		return all
	}(),
	judge: func(v *validator, at string, m *Measure) {
		if m.Error < window.LeastError || m.Error > window.MostError {
			v.complain(at+".error", "%v is out of range; give it %v to %v", m.Error, window.LeastError, window.MostError)
		}
	},
}
