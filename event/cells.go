package event

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"
)

// Records of TSV and CSV are one line of cells. The job says what the columns are called,
// because no line of names stands in front of a record. A cell is a number if its text is
// one in JSON, and a text otherwise; an empty one is missing.
//
// TSV is raw, as Snowplow and ClickHouse's TSVRaw have it: a tab ends a cell, and nothing is
// escaped. CSV is that of RFC 4180: a cell may be in quotes, and a quote in it is doubled. An
// empty cell in quotes is an empty text, as in PostgreSQL.

// Why a line was refused.
var (
	ErrLines = errors.New("event: more than one line in a record")
	ErrQuote = errors.New("event: CSV: a quote in a cell that does not begin with one, or bytes behind the quote that ends a cell")
	ErrOpen  = errors.New("event: CSV: a cell in quotes does not end")
)

// MaxColumns is how many columns a job can name.
const MaxColumns = 1000

// A cellReader finds the wanted cells of a line.
type cellReader struct {
	csv      bool
	cells    []cell
	*scratch // of cells with quotes in them
}

// A cell is a wanted cell: the index of its column, and the slot of its value.
type cell struct{ column, slot int }

// ColumnName returns what the column of an index, from 0, is called in a job that does not
// name its columns: c1 for the first one.
func ColumnName(index int) string { return fmt.Sprint("c", index+1) }

// Column returns the index of the column that a path names; -1 if there is none. Without
// names, the columns have those of ColumnName.
func Column(names []string, path string) int {
	if text, _, ok := cutInside(path); ok {
		path = text
	}
	if names != nil {
		return slices.Index(names, path)
	}
	for i := range MaxColumns {
		if ColumnName(i) == path {
			return i
		}
	}
	return -1
}

// newCellReader compiles those paths that do not lead into the envelope.
func newCellReader(format Format, columns, paths []string, texts *scratch) (*cellReader, error) {
	c := &cellReader{csv: format == CSV, scratch: texts}
	for slot, path := range paths {
		if InEnvelope(path) {
			continue
		}
		column := Column(columns, path)
		if column < 0 {
			return nil, fmt.Errorf("event: there is no column %q", path)
		}
		c.cells = append(c.cells, cell{column, slot})
	}
	slices.SortFunc(c.cells, func(a, b cell) int { return a.column - b.column })
	for i := 1; i < len(c.cells); i++ {
		if c.cells[i].column == c.cells[i-1].column {
			return nil, fmt.Errorf("event: path %q is given twice", paths[c.cells[i].slot])
		}
	}
	return c, nil
}

// read sets the wanted values of a line, which may end in a line break.
func (c *cellReader) read(line []byte, vals []Value) error {
	clear(vals)
	if line == nil {
		return ErrEmpty
	}
	if n := len(line); n > 0 && line[n-1] == '\n' {
		line = bytes.TrimSuffix(line[:n-1], []byte("\r"))
	}
	if c.csv {
		return c.commas(line, vals)
	}
	if bytes.IndexByte(line, '\n') >= 0 {
		return ErrLines
	}
	at, column := 0, 0
	for _, want := range c.cells {
		if at = tabs(line, at, want.column-column); at < 0 {
			break // the line has fewer columns
		}
		end, wide := at, uint64(0)
		for end+8 <= len(line) {
			w := binary.LittleEndian.Uint64(line[end:])
			if m := lowest(w, '\t'); m != 0 {
				n := bits.TrailingZeros64(m) >> 3
				wide |= w & (1<<(8*n) - 1)
				end += n
				break
			}
			wide |= w
			end += 8
		}
		for end < len(line) && line[end] != '\t' {
			wide |= uint64(line[end])
			end++
		}
		if err := set(&vals[want.slot], line[at:end:end], wide); err != nil {
			return err
		}
		column, at = want.column, end
	}
	return nil
}

// set sets a value to the contents of a cell. wide has the high bits of its bytes.
func set(v *Value, text []byte, wide uint64) error {
	if len(text) == 0 {
		return nil
	}
	if c := text[0]; (c-'0' < 10 || c == '-') && number(text, 0) == len(text) {
		*v = Value{Number, text}
		return nil
	}
	if *v = (Value{String, text}); wide&highs != 0 && !utf8.Valid(text) {
		return ErrUTF8
	}
	return nil
}

// lowest flags the first byte of w that is c. Flags above it may be wrong.
func lowest(w uint64, c byte) uint64 {
	w ^= ones * uint64(c)
	return (w - ones) &^ w & highs
}

// tabs returns the index behind the n-th tab from index i on; -1 if there are fewer.
func tabs(line []byte, i, n int) int {
	for n > 0 && i+8 <= len(line) {
		// Exact for each byte, unlike lowest: the sum carries into no other byte.
		w := binary.LittleEndian.Uint64(line[i:]) ^ ones*'\t'
		m := ^((w&^highs + ^uint64(highs)) | w) & highs
		if k := bits.OnesCount64(m); k < n {
			n, i = n-k, i+8
			continue
		}
		for ; n > 1; n-- {
			m &= m - 1
		}
		return i + bits.TrailingZeros64(m)>>3 + 1
	}
	for ; n > 0 && i < len(line); i++ {
		if line[i] == '\t' {
			n--
		}
	}
	if n > 0 {
		return -1
	}
	return i
}

// commas reads a line of CSV, to its end also behind the last wanted cell, because a quote
// decides what is a line.
func (c *cellReader) commas(line []byte, vals []Value) error {
	wanted := c.cells
	for i, column := 0, 0; ; column++ {
		slot := -1
		if len(wanted) > 0 && wanted[0].column == column {
			slot, wanted = wanted[0].slot, wanted[1:]
		}
		var err error
		if i < len(line) && line[i] == '"' {
			i, err = c.quoted(line, i+1, slot, vals)
		} else {
			i, err = unquoted(line, i, slot, vals)
		}
		switch {
		case err != nil:
			return err
		case i == len(line):
			return nil
		}
		i++ // the comma
	}
}

// unquoted reads a cell without quotes, and returns the index of its end.
func unquoted(line []byte, i, slot int, vals []Value) (int, error) {
	end, wide := i, uint64(0)
	for end+8 <= len(line) {
		w := binary.LittleEndian.Uint64(line[end:])
		if m := lowest(w, ',') | lowest(w, '"') | lowest(w, '\n'); m != 0 {
			n := bits.TrailingZeros64(m) >> 3
			wide |= w & (1<<(8*n) - 1)
			end += n
			break
		}
		wide |= w
		end += 8
	}
	for ; end < len(line) && line[end] != ','; end++ {
		switch line[end] {
		case '"':
			return 0, ErrQuote
		case '\n':
			return 0, ErrLines
		}
		wide |= uint64(line[end])
	}
	if slot < 0 {
		return end, nil
	}
	return end, set(&vals[slot], line[i:end:end], wide)
}

// quoted reads a cell from behind its opening quote, and returns the index of its end.
func (c *cellReader) quoted(line []byte, i, slot int, vals []Value) (int, error) {
	from, copied := i, len(c.text)
	doubled := false
	for {
		n := bytes.IndexByte(line[i:], '"')
		if n < 0 {
			return 0, ErrOpen
		}
		end := i + n
		if i = end + 1; i < len(line) && line[i] == '"' {
			if slot >= 0 {
				c.text = append(c.text, line[from:i]...)
			}
			i++
			from, doubled = i, true
			continue
		}
		if i < len(line) && line[i] != ',' {
			return 0, ErrQuote
		}
		if slot < 0 {
			return i, nil
		}
		text := line[from:end:end]
		if doubled {
			c.text = append(c.text, text...)
			text = c.text[copied:len(c.text):len(c.text)]
		}
		if vals[slot] = (Value{Type: String, Bytes: text}); len(text) == 0 {
			return i, nil
		}
		return i, set(&vals[slot], text, highs)
	}
}

// CheckColumn says what is wrong with the name of a column; nil if nothing is. A name has no
// brackets, and is not like a path into the record's key or its headers.
func CheckColumn(name string) error {
	switch {
	case name == "":
		return errors.New("event: a column without a name")
	case strings.ContainsAny(name, "[]"), InEnvelope(name):
		return fmt.Errorf("event: column %q cannot be named by a path", name)
	}
	return nil
}
