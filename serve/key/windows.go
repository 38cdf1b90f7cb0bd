package key

import (
	"fmt"
	"time"

	"weir/event"
)

// Windows returns the starts [from, until) of the windows that the key asks for, of
// a job whose windows have this size, at the time now. It wraps ErrQuestion if no
// window starts where the key says, or if the range ends before it begins.
func (k Key) Windows(now, size event.Time) (from, until event.Time, err error) {
	if from, err = k.start(k.From, now, size); err != nil {
		return 0, 0, err
	}
	if until, err = k.start(k.To, now, size); err != nil {
		return 0, 0, err
	}
	if until < from {
		return 0, 0, fmt.Errorf("%w: the range of windows ends before it begins", ErrQuestion)
	}
	return from, until + size, nil
}

// start returns the start of the window that a point names.
func (k Key) start(p Point, now, size event.Time) (event.Time, error) {
	if p.Start.IsZero() {
		return now - now%size - event.Time(p.Ago)*size, nil
	}
	t := event.Time(p.Start.UnixMilli())
	if aligned := t - t%size; aligned != t {
		return 0, fmt.Errorf("%w: no window of job %s starts at %s; one starts at %s", ErrQuestion, k.Job,
			p.Start.UTC().Format(time.RFC3339), time.UnixMilli(int64(aligned)).UTC().Format(time.RFC3339))
	}
	return t, nil
}

// Texts returns the value of each group, nil for all values, for the first of
// columns group columns or for as many groups as the key has.
func (k Key) Texts(columns int) [][]byte {
	texts := make([][]byte, max(columns, len(k.Groups)))
	for i, g := range k.Groups {
		if !g.All {
			texts[i] = append([]byte{}, g.Value...)
		}
	}
	return texts
}
