package quantile

import "weir/measures/face"

// Config is what a configuration knows of the kind.
var Config = face.Config{
	About: "keeps a histogram of a number, of which every quantile is known within the error",
	Parts: parts(),
	Least: LeastError, Most: MostError,
}

func parts() (all []string) {
	for _, q := range Shown() {
		all = append(all, q.Suffix)
	}
	return all
}
