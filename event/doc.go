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
//
// Files:
//
//	assignment.go  a partition that a reader was given, and the readable span of its log
//	batch.go       records, batches, and parts: the share of a partition in one fetch
//	reader.go      the reader, which finds values at paths of a record
//	each.go each_binary.go
//	               records that are arrays of events: in JSON; in Avro and Protobuf
//	fault.go       what is wrong in a document, and where
//	envelope.go key.go
//	               values at paths of a record's key and headers; keys that have a schema
//	avro_program.go protobuf_program.go
//	               what is compiled from a schema and the wanted paths
//	avro.go protobuf.go walk.go
//	               types of Avro and Protobuf, and the walk that follows such a program
//	schema.go format.go
//	               how a record names its schema, and the formats
//	glue.go        the frame of AWS Glue's serializers
//	cells.go       TSV and CSV
//	inside.go      paths that go on inside a text
//	field.go function.go
//	               the first of several paths, a date and a time of day, and the functions on texts
//	compare.go     exact comparison of numbers
//	time.go zone.go
//	               times in their units, and RFC 3339; time zones
//	grammar.go     the slow path of the scanner: the whole grammar of JSON
//	text.go        eight bytes at a time: ends of strings and of numbers
//	scan.go        the scanner, which finds values at paths of a JSON document
//	path.go        the grammar of paths
//	layout.go layout_amd64.go layout_other.go
//	               the fast path: documents with the layout of an earlier one, on amd64 sixteen bytes at a time
//	scaled.go value.go
//	               values as ids, integers, floats and exact decimals
package event
