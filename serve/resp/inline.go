package resp

import "bytes"

// inline reads a command that is a line. It unquotes a line with quotes in a copy, because
// a line that is refused stays in the input.
func (r *Reader) inline() bool {
	n, ok := r.line("too big inline request")
	if !ok {
		return false
	}
	line := r.buf[r.start:][:n]
	if n > 0 && line[n-1] == '\r' {
		line = line[:n-1]
	}
	if bytes.ContainsAny(line, `"'`) {
		line = bytes.Clone(line)
		r.unquoted = line
	}
	if !r.split(line) {
		return r.fail("unbalanced quotes in request")
	}
	if len(r.spans) > r.limits.Args {
		return r.fail("too many arguments")
	}
	if len(r.spans) == 0 {
		r.start += n + 1
		return true
	}
	r.at = n + 1
	return true
}

// split cuts a line into arguments, in place, as sdssplitargs in Redis does: "…" with
// \n \r \t \b \a \xHH, '…' with \' only, and a closing quote must be followed
// by a blank. It reports whether the quotes are balanced.
func (r *Reader) split(b []byte) bool {
	r.spans = r.spans[:0]
	for i := 0; ; {
		for i < len(b) && blank(b[i]) {
			i++
		}
		if i == len(b) {
			return true
		}
		from, to := i, i
		put := func(c byte) { b[to] = c; to++ } // to ≤ i at every call
		for i < len(b) && !blank(b[i]) {
			quote := b[i]
			if quote != '"' && quote != '\'' {
				put(b[i])
				i++
				continue
			}
			for i++; ; {
				if i == len(b) {
					return false
				}
				c := b[i]
				switch {
				case c == quote:
					if i+1 < len(b) && !blank(b[i+1]) {
						return false
					}
				case c == '\\' && quote == '"' && i+3 < len(b) && b[i+1] == 'x' && hex(b[i+2]) >= 0 && hex(b[i+3]) >= 0:
					put(byte(hex(b[i+2])<<4 | hex(b[i+3])))
					i += 4
					continue
				case c == '\\' && quote == '"' && i+1 < len(b):
					put(escaped(b[i+1]))
					i += 2
					continue
				case c == '\\' && quote == '\'' && i+1 < len(b) && b[i+1] == '\'':
					put('\'')
					i += 2
					continue
				default:
					put(c)
					i++
					continue
				}
				break
			}
			i++
			break // the quote ends the argument
		}
		r.spans = append(r.spans, span{from, to})
	}
}

func blank(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' || c == 0 }

func hex(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

func escaped(c byte) byte {
	switch c {
	case 'n':
		return '\n'
	case 'r':
		return '\r'
	case 't':
		return '\t'
	case 'b':
		return '\b'
	case 'a':
		return '\a'
	}
	return c
}
