// Package event holds records, batches of records, and the strict scanner that
// finds the wanted fields of a JSON event without allocating.
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
// at most MaxDepth deep; a fuzz test compares the two. The documents that a
// scanner has seen before change its speed, never its results. Values are
// views, valid until the next Scan or until the document's buffer is reused.
// Scanners belong to one goroutine each.
package event
