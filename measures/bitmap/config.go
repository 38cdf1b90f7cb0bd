package bitmap

import "weir/measures/face"

// Config is what a configuration knows of the kind.
var Config = face.Config{
	About: "keeps the ids themselves, unsigned integers below 2^32",
	Keys:  map[string]string{"field": "", "default": ""},
}
