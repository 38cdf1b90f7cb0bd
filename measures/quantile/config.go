package quantile

import "weir/measures/face"

// Config is what a configuration knows of the kind.
var Config = face.Config{
	About: "keeps a histogram of a number, of which every quantile is known within the error",
	Least: LeastError, Most: MostError,
}
