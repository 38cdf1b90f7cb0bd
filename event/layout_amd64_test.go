//go:build linux && !purego

package event

import (
	"strings"
	"sync"
	"syscall"
	"testing"
)

// withoutStride calls f while scanners do without the assembly.
func withoutStride(f func()) {
	striding = false
	defer func() { striding = true }()
	f()
}

// readable is memory with a page behind it that cannot be read.
var readable = sync.OnceValues(func() ([]byte, error) {
	const size = 1 << 20
	page := syscall.Getpagesize()
	b, err := syscall.Mmap(-1, 0, size+page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return nil, err
	}
	return b[:size:size], syscall.Mprotect(b[size:], syscall.PROT_NONE)
})

// atEndOfMemory copies a document so that the byte behind it cannot be read. The next call
// overwrites the copy.
func atEndOfMemory(t *testing.T, doc []byte) []byte {
	t.Helper()
	b, err := readable()
	if err != nil {
		t.Fatal(err)
	}
	if len(doc) > len(b) {
		return doc
	}
	b = b[len(b)-len(doc):]
	copy(b, doc)
	return b
}

// Stride alone reads documents of usual values, in the middle of a page.
func TestStrideEnds(t *testing.T) {
	page, err := readable()
	if err != nil {
		t.Fatal(err)
	}
	for _, doc := range []string{click, location, `{"ts":0,"page":"","a":-0.5}`, `{"ts":-17,"a":0.0,"page":"` + strings.Repeat("p", 47) + `"}`} {
		s := newScanner(t, refPaths...)
		teach(t, s, []string{doc})
		copy(page[100:], doc)
		l := &s.known
		next, at, _, ended := stride(&l.steps[0], &l.spans[0], &page[100], len(doc), 0, l.steps[0].next)
		if !ended {
			t.Errorf("of %s, stride stopped at %q, before step %d", doc, doc[next:], at)
		}
	}
}
