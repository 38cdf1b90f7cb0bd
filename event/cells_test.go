package event

import (
	"encoding/csv"
	"errors"
	"io"
	"math/rand/v2"
	"strings"
	"testing"
)

// cellPaths are the columns in all comparisons: not in order, and not all of a line.
var cellPaths = []string{"c3", "c1", "c9", "c4"}

func newCells(t testing.TB, format Format, columns []string, paths ...string) *Reader {
	t.Helper()
	r, err := NewReader(Form{Format: format, Columns: columns}, paths)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// texts writes values for a comparison.
func texts(vals []Value) string {
	var all []string
	for _, v := range vals {
		all = append(all, v.Type.String()+" "+string(v.Bytes))
	}
	return strings.Join(all, ", ")
}

func TestCells(t *testing.T) {
	for _, c := range []struct {
		format Format
		line   string
		want   string // of c3, c1, c9, c4
		err    error
	}{
		{TSV, "a\tb\tc\td", "string c, string a, missing , string d", nil},
		{TSV, "1\t2\t-3.5e2\t007\n", "number -3.5e2, number 1, missing , string 007", nil},
		{TSV, "\t\t\t\t\t\t\t\tnine\r\n", "missing , missing , string nine, missing ", nil},
		{TSV, "only", "missing , string only, missing , missing ", nil},
		{TSV, "a\tb\tc\td\te\tf\tg\th\ti\tj\tk", "string c, string a, string i, string d", nil},
		{TSV, "true\tb\tnull\t\\N", "string null, string true, missing , string \\N", nil},
		{TSV, "\"a\"\tb\t+1\t1.", "string +1, string \"a\", missing , string 1.", nil},
		{TSV, "a\tb\nc\td", "", ErrLines},
		{TSV, "a\n\n", "", ErrLines},
		{TSV, "\xff\tb\tc", "", ErrUTF8},
		{TSV, "a\t\xff\tc", "string c, string a, missing , missing ", nil}, // which is not read
		{CSV, "a,b,c,d", "string c, string a, missing , string d", nil},
		{CSV, "1,2,\"3\",\"\"\n", "number 3, number 1, missing , string ", nil},
		{CSV, ",,,,,,,,\"ni\"\"ne\"\r\n", "missing , missing , string ni\"ne, missing ", nil},
		{CSV, "\"a,\nb\",x,\"\"\"\",\"\"\"c\"\"\"", "string \", string a,\nb, missing , string \"c\"", nil},
		{CSV, "a b, c ,\t,d", "string \t, string a b, missing , string d", nil},
		{CSV, "a\"b,c", "", ErrQuote},
		{CSV, "\"a\"b,c", "", ErrQuote},
		{CSV, "\"a\" ,c", "", ErrQuote},
		{CSV, "a,b,c,d,e,f,g,h,i,\"j", "", ErrOpen},
		{CSV, "a,b\nc,d", "", ErrLines},
		{CSV, "a,b,c,d,e,f,g,h,i,j\nk", "", ErrLines},
		{CSV, "\"\xff\",b", "", ErrUTF8},
	} {
		r := newCells(t, c.format, nil, cellPaths...)
		vals := []Value{str("left"), str("over"), num("1"), str("x")}
		err := r.Read(&Record{Value: []byte(c.line)}, vals)
		if !errors.Is(err, c.err) || err == nil && texts(vals) != c.want {
			t.Errorf("%v %q: %s, %v; want %s, %v", c.format, c.line, texts(vals), err, c.want, c.err)
		}
	}
	for _, c := range []struct {
		columns []string
		paths   []string
		word    string
	}{
		{nil, []string{"c0"}, "no column"}, {nil, []string{"c1001"}, "no column"}, {nil, []string{"c01"}, "no column"}, {nil, []string{"user"}, "no column"},
		{[]string{"a", "b"}, []string{"c1"}, "no column"}, {[]string{"a", "b"}, []string{"b", "a", "b"}, "twice"}, {[]string{"a"}, []string{"a.b"}, "no column"},
	} {
		if _, err := NewReader(Form{Format: CSV, Columns: c.columns}, c.paths); err == nil || !strings.Contains(err.Error(), c.word) {
			t.Errorf("%q of %q: %v, want %s", c.paths, c.columns, err, c.word)
		}
	}
	// Names, a name with a dot, JSON in a column, key and headers.
	r := newCells(t, TSV, []string{"ts", "geo.country", "data", "key"}, "data[json].plan", "geo.country", "header:h", "key", "key:", "data")
	vals := make([]Value, 6)
	rec := Record{Value: []byte("1\tDE\t{\"plan\":\"pro\"}\tfour"), Envelope: &Envelope{Key: []byte("k"), Headers: headers("h", "v")}}
	if err := r.Read(&rec, vals); err != nil || texts(vals) != `string pro, string DE, string v, string four, string k, string {"plan":"pro"}` {
		t.Errorf("%s, %v", texts(vals), err)
	}
	rec.Value = []byte("1\tDE\tno")
	if err := r.Read(&rec, vals); err == nil || !strings.Contains(err.Error(), "the text at data is no JSON object") {
		t.Errorf("%v", err)
	}
}

// checkCells compares the reader with the standard library.
func checkCells(t *testing.T, csvReader, tsvReader *Reader, line string) {
	t.Helper()
	compare := func(r *Reader, cells []string, ok bool) {
		t.Helper()
		vals := make([]Value, len(cellPaths))
		err := r.Read(&Record{Value: []byte(line)}, vals)
		want := make([]Value, len(cellPaths))
		for i, column := range []int{2, 0, 8, 3} {
			if column >= len(cells) {
				continue
			}
			text := cells[column]
			want[i] = Value{Type: Missing}
			if !valid([]byte(text)) {
				ok = false
			} else if text != "" {
				want[i] = str(text)
			}
			if number([]byte(text), 0) == len(text) {
				want[i].Type = Number
			}
			if vals[i].Type == String && len(vals[i].Bytes) == 0 { // quotes with nothing between them
				vals[i] = Value{}
			}
		}
		if (err == nil) != ok || ok && texts(vals) != texts(want) {
			t.Fatalf("%q: %s, %v; want %s, %v", line, texts(vals), err, texts(want), ok)
		}
	}
	rest := line
	if r, ok := strings.CutSuffix(rest, "\n"); ok {
		rest = strings.TrimSuffix(r, "\r")
	}
	compare(tsvReader, strings.Split(rest, "\t"), !strings.Contains(rest, "\n"))

	// The library makes \r\n in a cell \n, drops a \r at the end, and skips empty lines.
	if rest == "" || strings.Contains(rest, "\r\n") || strings.HasSuffix(rest, "\r") || strings.Trim(rest, "\n") != rest {
		return
	}
	lib := csv.NewReader(strings.NewReader(line))
	lib.FieldsPerRecord = -1
	cells, err := lib.Read()
	_, more := lib.Read()
	compare(csvReader, cells, err == nil && errors.Is(more, io.EOF))
}

var cellLines = []string{
	"a,b,c,d", "1\t2\t3\t4", "\"a\"\"b\",\"c\nd\",,\"\"\n", "a\"b", "\"a\"b", "\"", "\"\"", "\"\"\"", ",,,,,,,,x", "\t\t\t\t\t\t\t\tx\r\n", "\"a\nb\"\nc", "é,\xff,ü", "\"\xff\"",
	"-1.5e3,01,1.,\".5\"", "a\r,b", "123456\t1234567\t\b\t\t12345678\t1",
}

func TestCellsAgainstLibrary(t *testing.T) {
	csvReader, tsvReader := newCells(t, CSV, nil, cellPaths...), newCells(t, TSV, nil, cellPaths...)
	for _, line := range cellLines {
		checkCells(t, csvReader, tsvReader, line)
	}
	r := rand.New(rand.NewPCG(13, 14))
	for range 10_000 {
		var b strings.Builder
		for range r.IntN(30) {
			b.WriteString([]string{"a", "bc", "1", "-2.5", ",", ",", "\t", "\t", "\"", "\"\"", "\n", "\r\n", "é", "\xff", "\b", "\t\t\t\t\t\t\t\t"}[r.IntN(16)])
		}
		checkCells(t, csvReader, tsvReader, b.String())
	}
}

func FuzzCells(f *testing.F) {
	for _, line := range cellLines {
		f.Add(line)
	}
	csvReader, tsvReader := newCells(f, CSV, nil, cellPaths...), newCells(f, TSV, nil, cellPaths...)
	f.Fuzz(func(t *testing.T, line string) { checkCells(t, csvReader, tsvReader, line) })
}

func TestCellsDoNotAllocate(t *testing.T) {
	for format, line := range map[Format]string{CSV: `1,"a ""b""","{""plan"":""p\""r\""o""}",x`, TSV: "1\ta\t{\"plan\":\"p\\\"r\\\"o\"}\tx"} {
		r := newCells(t, format, []string{"ts", "name", "data"}, "ts", "name", "data[json].plan", "header:h")
		rec, vals := Record{Value: []byte(line)}, make([]Value, 4)
		if n := testing.AllocsPerRun(100, func() {
			if err := r.Read(&rec, vals); err != nil || string(vals[2].Bytes) != `p"r"o` {
				t.Fatal(texts(vals), err)
			}
		}); n != 0 {
			t.Errorf("%v: %v allocations per record, want none", format, n)
		}
	}
}
