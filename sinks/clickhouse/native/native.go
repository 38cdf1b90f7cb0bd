// Package native writes blocks in ClickHouse's Native format, in revision 0, which is what a server
// reads over HTTP: the numbers of columns and rows as varints, then for each column its name, its type
// and the values of all rows. The server casts String to LowCardinality, and a plain type to
// SimpleAggregateFunction.
//
//	columns := []native.Column[click]{
//		native.String("page", func(c click) string { return c.page }),
//		native.UInt64("time", func(c click) uint64 { return c.time }),
//	}
//	sent, err := new(native.Writer).Write(to, columns, len(clicks), slices.Values(clicks))
package native

import (
	"encoding/binary"
	"io"
	"iter"
)

// A Column is a column of a block. The values of most types are one run of bytes; a Map is
// three (ends, keys, values), a Tuple one for each element. Add appends its bytes of a row to the first
// Runs, which are held until they are written. Last does that for the last run, which is written while it grows.
type Column[R any] struct {
	Name, Type string
	Runs       int
	Add        func(runs [][]byte, row R)            // nil if there are no Runs
	Last       func(run []byte, row R) (more []byte) // nil: there is no further run
}

const (
	// chunkBytes is how much is gathered before it is written: a request sends each write in a packet of its own.
	chunkBytes = 256 << 10

	// keptBytes bounds the memory of a run that a Writer keeps.
	keptBytes = 8 << 20
)

// A Writer has the memory of the blocks that are written with it, one after the other.
type Writer[R any] struct {
	chunk []byte   // what is not written yet
	runs  [][]byte // of a column

	to   io.Writer
	sent int
	err  error
}

// Write writes a block of n rows, which it reads once or twice for each column, and returns how many
// bytes were written.
func (w *Writer[R]) Write(to io.Writer, columns []Column[R], n int, rows iter.Seq[R]) (sent int, err error) {
	w.to, w.sent, w.err = to, 0, nil
	w.chunk = binary.AppendUvarint(w.chunk[:0], uint64(len(columns)))
	w.chunk = binary.AppendUvarint(w.chunk, uint64(n))
	for i := range columns {
		c := &columns[i]
		w.chunk = AppendString(w.chunk, c.Name)
		w.chunk = AppendString(w.chunk, c.Type)
		if ok := (c.Add == nil || w.gather(c, n, rows)) && (c.Last == nil || w.stream(c, rows)); !ok {
			return w.sent, w.err
		}
	}
	w.flush()
	return w.sent, w.err
}

// gather writes the runs of a column that are held.
func (w *Writer[R]) gather(c *Column[R], n int, rows iter.Seq[R]) bool {
	for len(w.runs) < c.Runs {
		w.runs = append(w.runs, nil)
	}
	runs := w.runs[:c.Runs]
	for i, run := range runs {
		if cap(run) > keptBytes {
			run = nil
		}
		runs[i] = run[:0]
	}
	for row := range rows {
		c.Add(runs, row)
	}
	for _, run := range runs {
		if !w.add(run) {
			return false
		}
	}
	return true
}

// stream writes the last run of a column.
func (w *Writer[R]) stream(c *Column[R], rows iter.Seq[R]) bool {
	chunk := w.chunk
	for row := range rows {
		if chunk = c.Last(chunk, row); len(chunk) >= chunkBytes {
			if !w.write(chunk) {
				return false
			}
			chunk = chunk[:0]
		}
	}
	w.chunk = chunk
	return true
}

// add writes bytes behind the gathered ones, or gathers them too.
func (w *Writer[R]) add(b []byte) bool {
	if len(b) <= chunkBytes/8 {
		w.chunk = append(w.chunk, b...)
		return len(w.chunk) < chunkBytes || w.flush()
	}
	return w.flush() && w.write(b)
}

func (w *Writer[R]) flush() bool {
	ok := w.write(w.chunk)
	w.chunk = w.chunk[:0]
	return ok
}

func (w *Writer[R]) write(b []byte) bool {
	n := 0
	n, w.err = w.to.Write(b)
	w.sent += n
	return w.err == nil
}

// Plain returns a column of one run.
func Plain[R any](name, typ string, add func(run []byte, row R) []byte) Column[R] {
	return Column[R]{Name: name, Type: typ, Last: add}
}

// UInt64 returns a column of numbers.
func UInt64[R any](name string, of func(row R) uint64) Column[R] {
	return Plain(name, "UInt64", func(run []byte, row R) []byte { return Append64(run, of(row)) })
}

// String returns a column of texts.
func String[R any, T string | []byte](name string, of func(row R) T) Column[R] {
	return Plain(name, "String", func(run []byte, row R) []byte { return AppendString(run, of(row)) })
}

// Append64 appends a number of 64 bits.
func Append64(run []byte, v uint64) []byte { return binary.LittleEndian.AppendUint64(run, v) }

// AppendString appends a text behind its length.
func AppendString[T string | []byte](run []byte, s T) []byte {
	return append(binary.AppendUvarint(run, uint64(len(s))), s...)
}
