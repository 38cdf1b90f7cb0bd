package config

import (
	"fmt"
	"strings"
)

// A Source says which of the four layers a value comes from. A later one wins.
type Source int

// The layers, from the weakest.
const (
	FromDefault Source = iota
	FromFile
	FromEnv
	FromFlag
)

// An Origin is the place where a value was written.
type Origin struct {
	Source       Source
	Name         string // file name, environment variable or flag
	Line, Column int    // in a file, from 1
	order        int    // of a variable or flag: that of the keys
}

// Where returns the place as an error message names it: weir.yaml:14:13,
// WEIR_KAFKA_BROKERS, --kafka.brokers, or nothing for a default.
func (o Origin) Where() string {
	if o.Line > 0 {
		return fmt.Sprintf("%s:%d:%d", o.Name, o.Line, o.Column)
	}
	return o.Name
}

// Origins tells for every value where it was written. The zero value says
// "default" for all.
type Origins struct{ places map[string]Origin }

// Of returns the origin of the value at path (kafka.brokers, jobs[0].window),
// or FromDefault if it was not given.
func (o *Origins) Of(path string) Origin { return o.places[path] }

// nearest is Of for messages: it returns the place of the section for a value that is
// missing.
func (o *Origins) nearest(path string) Origin {
	for {
		if at, ok := o.places[path]; ok || path == "" {
			return at
		}
		path = path[:max(0, strings.LastIndexAny(path, ".["))]
	}
}
