// Package schemas finds the schemas with which records are read: in a file, or in a registry
// that speaks Confluent's HTTP interface. It parses them with the libraries of their formats,
// and returns them in the form of package event.
//
//	r, err := schemas.NewRegistry(schemas.Config{URL: "http://registry:8081"})
//	s, err := r.For(event.Avro).Schema(ctx, id)
//
// A schema is immutable: a registry never gives an id to another one. So a schema that was
// read once is kept for the life of the process, and the values that weir reads depend on the
// bytes of records and schemas alone. What a registry answers instead of a schema (nothing,
// not found, something else) is an error: whether it lasts is for the caller to find out.
//
//	registry.go  the client of a registry
//	file.go      a schema in a file
//	avro.go      Avro's schemas
//	protobuf.go  files of Protobuf
//	tree.go      all that is in a value
package schemas
