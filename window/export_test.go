package window

import "weir/event"

// Find returns the row of a window and a group (the texts of its dimensions) in
// a sealed table.
func (t *Table) Find(window event.Time, group [][]byte) (Row, bool) {
	var room [64]byte
	key := room[:0]
	for _, text := range group {
		key = appendDimension(key, text, len(group))
	}
	at := t.find(rowHash(window, groupHash(key)), window, key)
	if at < 0 {
		return Row{}, false
	}
	return Row{t, *t.index.At(at)}, true
}

// What the tests in package window_test use of this package besides what others use.
var (
	KeyCheck = keyCheck
	ExactID  = exactID
)

const MaxPayload = maxPayload

// Decode decodes records, and returns the outcome and the reason of the first one.
func (o *Operator) Decode(records ...event.Record) (outcome Outcome, reason string) {
	d := o.decoder
	if _, err := d.readBlock(records); err != nil {
		panic(err)
	}
	d.decode()
	if outcome = d.outcomes[0]; outcome != Counted {
		reason = d.reasons[0]
	}
	return outcome, reason
}

// DecodeOne decodes one event and returns its outcome and reason, its group, and the measures that
// take something of it.
func (o *Operator) DecodeOne(doc string) (outcome Outcome, reason, group string, takes []string) {
	d := o.decoder
	o.Decode(event.Record{Value: []byte(`{"x":"left over","n":7}`), Time: 1000})
	outcome, reason = o.Decode(event.Record{Value: []byte(doc), Time: 1000})
	if outcome == Counted {
		group = string(d.groups[0])
		for i := range d.readings {
			if len(d.readings[i].takes) > 0 {
				takes = append(takes, o.spec.Measures[i].Name)
			}
		}
	}
	return outcome, reason, group, takes
}
