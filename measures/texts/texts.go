// Package texts reads the values of fields that are texts, numbers or bools. The kinds first,
// last and topk share it.
package texts

import "weir/window"

// A Block has the values of a block of events.
type Block struct {
	spans [window.BlockSize]span
	text  []byte
}

// A span is where in text a value lies.
type span struct{ from, to int }

// Read reads the values of a field, as window.Intake.Read does.
func (b *Block) Read(d *window.Decoder, at int, events []window.Entry) {
	b.text = b.text[:0]
	for _, e := range events {
		if text, ok := d.Text(e, at); ok {
			from := len(b.text)
			b.text = append(b.text, text...)
			b.spans[e] = span{from, len(b.text)}
		}
	}
}

// Of returns the value of an event.
func (b *Block) Of(e window.Entry) []byte { return b.text[b.spans[e].from:b.spans[e].to] }
