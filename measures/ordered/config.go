package ordered

import "weir/measures/face"

// FirstConfig and LastConfig are what a configuration knows of the kinds.
var (
	FirstConfig = face.Config{About: "keeps the value of a field of the earliest event, a text, number or bool of at most 1 KiB", Keys: keys}
	LastConfig  = face.Config{About: "keeps the value of a field of the latest event, a text, number or bool of at most 1 KiB", Keys: keys}

	keys = map[string]string{"field": "", "default": ""}
)
