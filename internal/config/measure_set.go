package config

import "weir/window"

var setMeasure = measureKind{
	Kind:  window.Set,
	parts: []string{"_ids"}, // the column of the hashes, beside those that SQL reads
	about: "keeps ids, texts or numbers, by hashes of 32 bits: counts them within 0.02 % of a million, and tells who came back",
}
