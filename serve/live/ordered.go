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
		begin: func(_ *window.Spec, m *window.Measure) merging { return &orderedValue{of: m} },
	}
}

// A Text is the value of a measure that keeps values as they are.
type Text string

// AppendText appends the value.
func (t Text) AppendText(b []byte) ([]byte, error) { return append(b, t...), nil }

type orderedValue struct {
	of    *window.Measure
	state []byte // as the sink holds it
}

func (v *orderedValue) mergeState(state []byte) error {
	best, err := v.of.Merge(v.state, state)
	if err == nil {
		v.state = best
	}
	return err
}

// mergeRow looks at the marks first: most rows do not change the value.
func (v *orderedValue) mergeRow(row window.Row, m int) {
	best, _, err := window.ReadValue(v.state)
	must(err)
	if mark, _ := row.Value(m); mark.Compare(best) > 0 {
		v.state = row.AppendState(v.state[:0], m)
	}
}

func (v *orderedValue) settle() {}

func (v *orderedValue) mergeAll(others []merging) {
	for _, o := range others {
		must(v.mergeState(o.(*orderedValue).state))
	}
}

func (v *orderedValue) measured() any {
	mark, value, err := window.ReadValue(v.state)
	must(err)
	if mark == (window.Mark{}) {
		return nil
	}
	return Text(value)
}

func (v *orderedValue) bytes() int64 { return int64(40 + cap(v.state)) }
