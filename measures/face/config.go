package face

// A Config says what a configuration knows of a kind.
type Config struct {
	About     string   // what the kind does, for the reference: "counts distinct ids"
	Elsewhere []string // what other systems call it

	// Keys are the keys of config.Measure that a measure of the kind may have, beside those of every kind, each with
	// what the reference says of it only for this kind.
	Keys map[string]string

	AddsUp bool // its numbers may be added up over windows and groups

	Least, Most float64 // the bounds of the key error, if they are narrower than those of the key
}
