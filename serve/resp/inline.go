package resp

import "bytes"

// inline reads a command that is a line: words between blanks, without quotes.
func (r *Reader) inline() bool {
	n, ok := r.line("too big inline request")
	if !ok {
		return false
	}
	line := r.buf[r.start:][:n]
	if bytes.ContainsAny(line, `"'`) {
		return r.fail("quotes in an inline request: send its arguments as an array")
	}
	r.spans = r.spans[:0]
	for i := 0; i < n; {
		from := i
		for i < n && !blank(line[i]) {
			i++
		}
		if i > from {
			r.spans = append(r.spans, span{from, i})
		}
		i++
	}
	switch {
	case len(r.spans) > r.limits.Args:
		return r.fail("too many arguments")
	case len(r.spans) == 0:
		r.start += n + 1
	default:
		r.at = n + 1
	}
	return true
}

func blank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' || c == 0 }
