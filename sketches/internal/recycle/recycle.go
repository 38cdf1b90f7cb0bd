// Package recycle hands memory from one pool of sketches to the next. A table that was
// flushed is empty when the next one grows, so both can live in the memory of one.
//
//	var boards recycle.Bin[board]
//	b := boards.Take()  // with what it last had
//	boards.Give(b)
//
// What nothing takes while the garbage collector runs twice goes back to the runtime.
package recycle

import "sync"

// A Bin has values that are not in use. The zero value is ready. It is safe for concurrent use.
type Bin[T any] struct{ pool sync.Pool }

// Take returns a value, with what it had when it was given, or a new one.
func (b *Bin[T]) Take() *T {
	if x, ok := b.pool.Get().(*T); ok {
		return x
	}
	return new(T)
}

// Give takes a value that is not in use any more.
func (b *Bin[T]) Give(x *T) { b.pool.Put(x) }

// GiveAll takes all values of a list, and returns it empty.
func (b *Bin[T]) GiveAll(list []*T) []*T {
	for _, x := range list {
		b.Give(x)
	}
	clear(list)
	return list[:0]
}
