package config

import "weir/window"

// TopKKeys are the keys of topk measures.
type TopKKeys struct {
	K int `yaml:"k" default:"10" when:"kind=topk" min:"1" max:"1000" doc:"How many values are shown. weir keeps four times as many per window and group, at least 64, and of the chunk that it reads all of them."`
}

var topkMeasure = measureKind{
	Kind:  window.TopK,
	plain: true,
	about: "keeps the most frequent values of a field, texts, numbers or bools of at most 1 KiB, with bounds of their counts",
	spec:  func(m *Measure, w *window.Measure) { w.K = m.K },
}
