package extreme

import "weir/measures/face"

// MinConfig and MaxConfig are what a configuration knows of the kinds.
var (
	MinConfig = face.Config{About: "keeps the least value of a number", Keys: keys}
	MaxConfig = face.Config{About: "keeps the greatest value of a number", Keys: keys}

	keys = map[string]string{"field": "", "default": ""}
)
