package redis

import "encoding"

// numberForm has GET, and whatever else reads strings, read a number as its text.
func numberForm(it *item, value any) bool {
	n, ok := value.(encoding.TextAppender)
	if ok {
		text, err := n.AppendText([]byte{})
		if err != nil {
			panic("redis: a number without a text: " + err.Error())
		}
		it.str = text
	}
	return ok
}
