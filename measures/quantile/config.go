package quantile

import "weir/measures/face"

// Config is what a configuration knows of the kind.
var Config = face.Config{
	About:     "keeps a histogram of a number, of which every quantile is known within the error",
	Elsewhere: []string{"percentile", "median"},
	Keys:      map[string]string{"field": "", "default": "", "error": "With quantile, how far a quantile may be from the true one, as a share of it: 0.001 to 0.3."},
	Least:     LeastError, Most: MostError,
}
