// Package infer says what is in the records of a topic, and writes a job that reads them.
//
//	f := infer.Read(ctx, records, infer.Schemas{}, config.IsPath)
//	f.Write(w, "clicks", "clicks")
//
// It is a guess from a sample, for a person to check: the fields with their types and values,
// and which of them look like the time, a group, an id of the event, users, positions and
// amounts. It knows JSON, TSV and CSV, and Avro and Protobuf if it is given where their schemas
// are.
package infer
