package face

// A Config says what a configuration knows of a kind.
type Config struct {
	About string // what the kind does, for the reference: "counts distinct ids"

	Least, Most float64 // the bounds of the key error, if they are narrower than those of the key
}
