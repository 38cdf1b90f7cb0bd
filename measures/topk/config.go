package topk

import "weir/measures/face"

// Config is what a configuration knows of the kind.
var Config = face.Config{
	About: "keeps the most frequent values of a field, texts, numbers or bools of at most 1 KiB, with bounds of their counts",
	Keys:  map[string]string{"field": "", "default": "", "k": "weir keeps four times as many per window and group, at least 64, and of the chunk that it reads all of them."},
}
