package await

import (
	"bytes"
	"sync"
)

// An Output keeps what a process or another goroutine writes, and can be read meanwhile.
// The zero Output is empty.
type Output struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends p. It never fails.
func (o *Output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.Write(p)
}

// String returns everything that was written until now.
func (o *Output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.text.String()
}
