package gen

import (
	"bytes"
	"slices"
)

// spoil replaces a record's value by one that cannot be counted. Real producers
// make each of these mistakes.
func (g *Generator) spoil(r *Record) {
	r.Malformed = true
	v := r.Value
	ts := bytes.Index(v, []byte(`"ts":`))
	from := ts + len(`"ts":`)
	to := from + bytes.IndexByte(v[from:], ',')
	switch g.random.below(12) {
	case 0: // cut off
		v = v[:1+g.random.below(uint64(len(v)-1))]
	case 1: // two events in one record
		v = append(v, bytes.Clone(v)...)
	case 2: // a comma too many
		v = append(v[:len(v)-1], ",}"...)
	case 3: // JSON has no NaN
		v = slices.Replace(v, from, to, []byte("NaN")...)
	case 4: // a time in words
		v = slices.Replace(v, from, to, []byte(`"yesterday"`)...)
	case 5: // no time
		v = slices.Replace(v, from, to, []byte("null")...)
	case 6: // another name for the time
		v = slices.Replace(v, ts, from, []byte(`"TS":`)...)
	case 7: // twice the same key
		v = append(v[:len(v)-1], `,"ts":1}`...)
	case 8: // Latin-1
		v = slices.Insert(v, ts+1, 0xe9)
	case 9: // a line break in a string
		v = slices.Insert(v, ts+1, '\n')
	case 10: // nothing
		v = v[:0]
	default: // not an object; or off the earth, which is an object
		if g.stream == locations {
			v = append(v[:bytes.Index(v, []byte(`"lat":`))], `"lat":91.5}`...)
			break
		}
		v = append(slices.Insert(v, 0, '['), ']')
	}
	r.Value = v
}
