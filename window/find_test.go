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
