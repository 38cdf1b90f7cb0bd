package live

import "weir/window"

// orderedKind makes a kind that answers with a Text.
func orderedKind(k window.Kind) Kind {
	return Kind{
		Name:    k.String(),
		Shows:   Texts,
		Command: "GET",
		Number: func(value any) any {
			if text, ok := value.(Text); ok {
				return string(text)
			}
			return nil
		},
		value: func(row window.Row, m int) any {
			if mark, value := row.Value(m); mark != (window.Mark{}) {
				return Text(value)
			}
			return nil
		},
	}
}

// A Text is the value of a measure that keeps values as they are.
type Text string

// AppendText appends the value.
func (t Text) AppendText(b []byte) ([]byte, error) { return append(b, t...), nil }
