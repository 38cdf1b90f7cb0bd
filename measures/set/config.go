package set

import "weir/measures/face"

// Config is what a configuration knows of the kind.
var Config = face.Config{
	About: "keeps ids, texts or numbers, by hashes of 32 bits: counts them within 0.02 % of a million, and tells who came back",
	Keys:  map[string]string{"field": "", "default": ""},
}
