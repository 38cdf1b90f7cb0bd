// Package texts reads the values of fields that are texts, numbers or bools. The kinds first,
// last and topk share it.
package texts

import (
	"weir/event"
	"weir/window"
)

// A Block gathers the values of a block of events one after another.
type Block struct {
	ends [window.BlockSize]int
	text []byte
}

// Read reads the value of a field into entry n, as window.Intake.Read does.
func (b *Block) Read(d *window.Decoder, at, n int) (bool, string) {
	v := d.Value(at)
	switch {
	case v.Type != event.String && v.Type != event.Number && v.Type != event.Bool:
		return false, d.Wrong(at, "is not text, number or bool")
	case len(v.Bytes) > window.MaxValue:
		return false, d.Wrong(at, "is longer than 1 KiB")
	}
	b.text = append(b.text[:b.begin(n)], v.Bytes...)
	b.ends[n] = len(b.text)
	return true, ""
}

func (b *Block) begin(n int) int {
	if n == 0 {
		return 0
	}
	return b.ends[n-1]
}

// Of returns the value of entry n.
func (b *Block) Of(n int) []byte { return b.text[b.begin(n):b.ends[n]] }
