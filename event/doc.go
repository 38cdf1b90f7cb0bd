// Package event holds what a log says: records, batches of them, and the
// strict scanner that finds the wanted fields of a JSON event without
// allocating.
//
//	s, err := event.NewScanner([]string{"ts", "user_id", "geo.country"})
//	vals := make([]event.Value, 3)
//	...
//	if err := s.Scan(record.Value, vals); err != nil {
//		// malformed; err says why, s.ErrOffset() where
//	}
//	at, ok := vals[0].Time(event.Millis)
//	user, ok := vals[1].ID()
//
// The contract: a document is accepted if and only if the strict mode of
// go-json-experiment's jsontext accepts it, it is an object, and it is nested
// at most MaxDepth deep; a fuzz test holds the two together. What a scanner
// has seen before changes how fast it is, never what it answers. Values are
// views, valid until the next Scan or until the document's buffer is reused.
// Scanners belong to one goroutine each.
package event
