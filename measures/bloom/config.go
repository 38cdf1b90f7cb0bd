package bloom

import "weir/measures/face"

// Config is what a configuration knows of the kind.
var Config = face.Config{
	About: "answers whether an id was seen",
	Keys:  map[string]string{"field": "", "default": "", "capacity": "", "error": "With bloom, the share of unseen ids that are taken for seen ones."},
}
