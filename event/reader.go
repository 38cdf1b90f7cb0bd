package event

// A Reader finds the values at a fixed set of paths in records of one format: in the value,
// the key and the headers. Like a Scanner it serves one goroutine, and does not allocate once
// its scratch has grown to what the records need.
type Reader struct {
	json     *Scanner
	envelope *envelopeReader // nil: no path leads there
}

// NewReader compiles paths: see CheckPath.
func NewReader(paths []string) (*Reader, error) {
	root, err := newBranch(paths, func(path string) bool { return !InEnvelope(path) })
	if err != nil {
		return nil, err
	}
	r := &Reader{json: scannerOf(root, len(paths))}
	r.envelope, err = newEnvelopeReader(paths)
	return r, err
}

// Read sets vals[i] to the value at the i-th path. If it returns an error, the record is
// malformed, and vals are not valid. The error depends on the record alone.
func (r *Reader) Read(rec *Record, vals []Value) error {
	if err := r.json.Scan(rec.Value, vals); err != nil || r.envelope == nil {
		return err
	}
	return r.envelope.read(rec.Envelope, vals)
}
