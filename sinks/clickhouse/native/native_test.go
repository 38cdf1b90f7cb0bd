package native

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"testing"
)

// Columns of each form, and a block of them written without a Writer: each run is gathered whole.
func forms() []Column[int] {
	pair := func(runs [][]byte, row int) {
		runs[0] = Append64(runs[0], uint64(row))
		runs[1] = AppendString(runs[1], bytes.Repeat([]byte("x"), row%70))
	}
	return []Column[int]{
		UInt64("n", func(row int) uint64 { return uint64(row) }),
		{Name: "pair", Type: "Tuple(UInt64, String)", Runs: 2, Add: pair},
		{Name: "ends", Type: "Map(UInt64, String)", Runs: 2, Add: pair, Last: func(run []byte, row int) []byte { return AppendString(run, "last") }},
		String("text", func(row int) string { return string(rune('a' + row%26)) }),
	}
}

func naive(columns []Column[int], rows []int) []byte {
	block := binary.AppendUvarint(binary.AppendUvarint(nil, uint64(len(columns))), uint64(len(rows)))
	for _, c := range columns {
		block = AppendString(AppendString(block, c.Name), c.Type)
		runs, last := make([][]byte, c.Runs), []byte(nil)
		for _, row := range rows {
			if c.Add != nil {
				c.Add(runs, row)
			}
			if c.Last != nil {
				last = c.Last(last, row)
			}
		}
		block = append(append(block, slices.Concat(runs...)...), last...)
	}
	return block
}

// A block is the runs of its columns, one after another, however large it is and whatever was written before.
func TestWrite(t *testing.T) {
	var w Writer[int]
	for _, n := range []int{0, 1, 5000, 40_000, 3} {
		rows := make([]int, n)
		for i := range rows {
			rows[i] = i * 7
		}
		var got bytes.Buffer
		sent, err := w.Write(&got, forms(), n, slices.Values(rows))
		if want := naive(forms(), rows); err != nil || sent != len(want) || !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%d rows: %d bytes are written, said to be %d (%v), want %d or other ones", n, got.Len(), sent, err, len(want))
		}
		for _, most := range []int{0, got.Len() / 2, got.Len() - 1} {
			broken := &failing{most: most}
			sent, err := w.Write(broken, forms(), n, slices.Values(rows))
			if !errors.Is(err, io.ErrClosedPipe) || sent != broken.taken {
				t.Errorf("%d rows, of which %d bytes are taken: %d are sent, %v", n, broken.taken, sent, err)
			}
		}
	}
}

// A failing takes most bytes.
type failing struct{ taken, most int }

func (f *failing) Write(b []byte) (int, error) {
	n := min(len(b), f.most-f.taken)
	if f.taken += n; n < len(b) {
		return n, io.ErrClosedPipe
	}
	return n, nil
}
