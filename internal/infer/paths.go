package infer

import (
	"context"
	"fmt"
	"strings"

	"weir/event"
)

// Bounds of the paths that are noted, against records that are made to have many.
const (
	maxPaths = 1000
	maxPath  = 200
)

// Paths returns how many values some records have at each path, as a job writes it whose array of events is each. read has
// the arrays and the elements that the job names by their index: what such an array has beside these elements is counted at
// its path with [] behind it.
func Paths(ctx context.Context, records []event.Record, from Schemas, each string, read map[string]bool) map[string]int {
	w := &walker{event.OfRecord + strings.TrimSuffix(each, "[]") + "[]", read, map[string]int{}}
	for d, i := newDecoder(from), 0; i < len(records); i++ {
		of, trees, _ := d.read(ctx, &records[i])
		for _, tree := range trees {
			switch {
			case each == "":
				w.value("", tree)
			case of.whole:
				w.value(event.OfRecord+event.Whole+"[]", tree)
			default:
				w.value(event.OfRecord, tree)
			}
		}
		if env := records[i].Envelope; env != nil {
			w.value("key:", parse(env.Key))
			env.Headers.Each(func(name, _ []byte) { w.value("header:"+string(name), true) })
		}
	}
	return w.count
}

// A walker notes paths.
type walker struct {
	each  string // with OfRecord, and [] behind it
	read  map[string]bool
	count map[string]int
}

// value notes a value, and what is in it.
func (w *walker) value(path string, value any) {
	if path == w.each {
		path = ""
	}
	root := path == "" || strings.HasSuffix(path, ":")
	if _, known := w.count[path]; len(path) > maxPath || !known && len(w.count) == maxPaths {
		return
	} else if value != nil && !root && !strings.Contains(path, "[]") {
		w.count[path]++
	}
	switch x := value.(type) {
	case map[string]any:
		if !root {
			path += "."
		}
		for key, of := range x {
			w.value(path+event.QuoteKey(key), of)
		}
	case []any:
		for i, of := range x {
			all, at := path+"[]", fmt.Sprintf("%s[%d]", path, i)
			if strings.HasPrefix(w.each, all) {
				w.value(all, of)
				continue
			}
			if w.read[path] && !w.read[at] {
				w.count[all]++
			}
			if i == 0 || w.read[at] {
				w.value(at, of)
			}
		}
	case string:
		w.value(path+"[json]", parse([]byte(x)))
	}
}
