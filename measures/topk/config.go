package topk

import "weir/measures/face"

// Config is what a configuration knows of the kind.
var Config = face.Config{
	About: "keeps the most frequent values of a field, texts, numbers or bools of at most 1 KiB, with bounds of their counts",
}
