package geo

import "weir/measures/face"

// Config is what a configuration knows of the kind.
var Config = face.Config{
	About: "keeps the last position of each member",
	Keys:  map[string]string{"member": "", "lon": "", "lat": ""},
}
