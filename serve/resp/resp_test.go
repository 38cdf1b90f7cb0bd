package resp

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
)

// collect reads everything and returns copies.
func collect(src io.Reader, l Limits, most int) (list [][]string, err error) {
	r := NewReader(l)
	for {
		ended := r.Fill(src)
		for {
			commands, err := r.Batch(most)
			if err != nil {
				if len(commands) > 0 {
					panic("commands with an error")
				}
				return list, err
			}
			if len(commands) > most {
				panic(fmt.Sprintf("%d commands of at most %d", len(commands), most))
			}
			if len(commands) == 0 {
				break
			}
			for _, args := range commands {
				var c []string
				for _, a := range args {
					c = append(c, string(a))
				}
				list = append(list, c)
			}
		}
		if ended != nil {
			return list, ended
		}
	}
}

var streams = []struct {
	name, in string
	want     [][]string
	err      string
}{
	{"one", "*1\r\n$4\r\nPING\r\n", [][]string{{"PING"}}, "EOF"},
	{"two", "*2\r\n$3\r\nGET\r\n$1\r\nk\r\n*1\r\n$4\r\nPING\r\n", [][]string{{"GET", "k"}, {"PING"}}, "EOF"},
	{"binary and empty", "*3\r\n$3\r\nSET\r\n$0\r\n\r\n$4\r\n\r\n\x00\xff\r\n", [][]string{{"SET", "", "\r\n\x00\xff"}}, "EOF"},
	{"no command", "*0\r\n*-1\r\n\r\n\n  \r\nPING\r\n", [][]string{{"PING"}}, "EOF"},
	{"inline", "SET k  v\r\nGET\tk\nPING\r\n", [][]string{{"SET", "k", "v"}, {"GET", "k"}, {"PING"}}, "EOF"},
	{"mixed", "PING\r\n*1\r\n$4\r\nQUIT\r\nPING\n", [][]string{{"PING"}, {"QUIT"}, {"PING"}}, "EOF"},
	{"half", "*2\r\n$3\r\nGET\r\n$5\r\nabc", nil, "EOF"},
	{"commands before the error", "PING\r\n*x\r\n", [][]string{{"PING"}}, "Protocol error: invalid multibulk length"},
	{"two commands before the error", "0\r\n0\r\n\"\n", [][]string{{"0"}, {"0"}}, "Protocol error: quotes in an inline request: send its arguments as an array"},
	{"quote", "SET \"a\"\r\n", nil, "Protocol error: quotes in an inline request: send its arguments as an array"},
	{"no dollar", "*1\r\n:4\r\n", nil, "Protocol error: expected '$', got ':'"},
	{"no line", "*1\r\n\n", nil, "Protocol error: expected '$', got '\n'"},
	{"negative bulk", "*1\r\n$-1\r\n", nil, "Protocol error: invalid bulk length"},
	{"plus", "*1\r\n$+4\r\n", nil, "Protocol error: invalid bulk length"},
	{"bulk above", "*1\r\n$101\r\n", nil, "Protocol error: invalid bulk length"},
	{"huge bulk", "*1\r\n$99999999999999999999\r\n", nil, "Protocol error: invalid bulk length"},
	{"args above", "*11\r\n", nil, "Protocol error: too many arguments"},
	{"huge count", "*2147483648\r\n", nil, "Protocol error: invalid multibulk length"},
	{"leading zero", "*01\r\n", nil, "Protocol error: invalid multibulk length"},
	{"minus zero", "*-0\r\n", nil, "Protocol error: invalid multibulk length"},
	{"no carriage return", "*1\n", nil, "Protocol error: invalid multibulk length"},
	{"bulk without end", "*1\r\n$4\r\nPINGxx", nil, "Protocol error: expected CRLF after bulk"},
	{"request above", "*4\r\n$100\r\n" + strings.Repeat("x", 100) + "\r\n$100\r\n" + strings.Repeat("x", 100) + "\r\n$100\r\n", nil, "Protocol error: too big request"},
	{"inline request above", strings.Repeat("x", 300) + "\n", nil, "Protocol error: too big request"},
	{"inline args above", "1 2 3 4 5 6 7 8 9 10 11\r\n", nil, "Protocol error: too many arguments"},
}

var testLimits = Limits{Args: 10, Bulk: 100, Request: 300}

func TestStreams(t *testing.T) {
	for _, c := range streams {
		for _, most := range []int{1, 2, 64} {
			got, err := collect(strings.NewReader(c.in), testLimits, most)
			if !reflect.DeepEqual(got, c.want) || err.Error() != c.err {
				t.Errorf("%s, %d at once: %q, %v\nwant %q, %s", c.name, most, got, err, c.want, c.err)
			}
		}
	}
}

// TestSplitAtEveryByte gives each stream in two reads split at each byte, byte
// by byte, and with the error in the same read as the last bytes: the result
// must be the same.
func TestSplitAtEveryByte(t *testing.T) {
	for _, c := range streams {
		check := func(how string, src io.Reader) {
			t.Helper()
			got, err := collect(src, testLimits, 3)
			if !reflect.DeepEqual(got, c.want) || err.Error() != c.err {
				t.Fatalf("%s, %s: %q, %v\nwant %q, %s", c.name, how, got, err, c.want, c.err)
			}
		}
		for i := range c.in {
			check(fmt.Sprint("split at ", i), io.MultiReader(strings.NewReader(c.in[:i]), strings.NewReader(c.in[i:])))
		}
		check("byte by byte", iotest.OneByteReader(strings.NewReader(c.in)))
		check("error with data", iotest.DataErrReader(strings.NewReader(c.in)))
	}
}

// TestLongLines: a line without an end is a protocol error, and does not make
// the buffer grow.
func TestLongLines(t *testing.T) {
	for head, want := range map[string]string{
		"x":         "Protocol error: too big inline request",
		"*1":        "Protocol error: too big mbulk count string",
		"*1\r\n$1":  "Protocol error: too big bulk count string",
		"*1\r\nxxx": "Protocol error: too big bulk count string",
	} {
		endless := io.MultiReader(strings.NewReader(head), repeat('1'))
		if _, err := collect(endless, Limits{}, 1); err.Error() != want {
			t.Errorf("%q…: %v, want %s", head, err, want)
		}
	}
}

type repeat byte

func (c repeat) Read(b []byte) (int, error) {
	for i := range b {
		b[i] = byte(c)
	}
	return len(b), nil
}

// TestAnnouncedLength: a length alone takes no memory.
func TestAnnouncedLength(t *testing.T) {
	r := NewReader(Limits{})
	if err := r.Fill(strings.NewReader("*1000000\r\n$536870912\r\nabc")); err != nil {
		t.Fatal(err)
	}
	if commands, err := r.Batch(1); len(commands) > 0 || err != nil || r.Held() > 0 || !r.Partial() {
		t.Fatalf("%q, %v, %d bytes held", commands, err, r.Held())
	}
}

// TestMemory: the buffer has room for at most five times what has arrived of a command,
// all that it has been moved from is half as long at most, and it is given back after the
// command.
func TestMemory(t *testing.T) {
	const size = 8 << 20
	r := NewReader(Limits{})
	in := strings.NewReader(fmt.Sprintf("*1\r\n$%d\r\n%s\r\n", size, strings.Repeat("x", size)))
	sum, last := 0, 0
	for in.Len() > 0 {
		if err := r.Fill(in); err != nil {
			t.Fatal(err)
		}
		if n := cap(r.buf); n != last {
			sum, last = sum+n, n
		}
		if n := cap(r.buf); n > max(5*len(r.buf), bufferMost) {
			t.Errorf("room for %d bytes when %d have arrived", n, len(r.buf))
		}
		if list, err := r.Batch(1); err != nil || (len(list) == 1) != (in.Len() == 0) {
			t.Fatal(len(list), err)
		}
	}
	if last < size || sum > last*8/5 {
		t.Errorf("%d bytes in all for a command of %d", sum, last)
	}
	for range 2 {
		if err := r.Fill(strings.NewReader("PING\r\n")); err != nil {
			t.Fatal(err)
		}
		if list, err := r.Batch(1); len(list) != 1 || err != nil {
			t.Fatal(list, err)
		}
	}
	if r.Held() != 0 {
		t.Errorf("%d bytes are held after a short command", r.Held())
	}
	many := NewReader(Limits{})
	if err := many.Fill(strings.NewReader("*1000\r\n" + strings.Repeat("$0\r\n\r\n", 140))); err != nil {
		t.Fatal(err)
	}
	if _, err := many.Batch(1); err != nil || cap(many.buf) != bufferLeast {
		t.Fatal(cap(many.buf), err)
	}
}

type loop struct {
	text []byte
	at   int
}

func (l *loop) Read(b []byte) (int, error) {
	n := copy(b, l.text[l.at:])
	l.at = (l.at + n) % len(l.text)
	return n, nil
}

func TestAllocations(t *testing.T) {
	src := &loop{text: bytes.Repeat([]byte("*3\r\n$5\r\nPFADD\r\n$1\r\nk\r\n$7\r\nelement\r\n"), 50)}
	r := NewReader(Limits{})
	var w Writer
	step := func() {
		if err := r.Fill(src); err != nil {
			t.Fatal(err)
		}
		for {
			commands, err := r.Batch(64)
			if err != nil {
				t.Fatal(err)
			}
			for range commands {
				w.Int(1)
				w.Bulk(commands[0][2])
				w.Double(0.5)
			}
			if len(commands) == 0 {
				break
			}
		}
		w.Reset()
	}
	for range 100 {
		step()
	}
	if n := testing.AllocsPerRun(1000, step); n != 0 {
		t.Errorf("%v allocations in a batch", n)
	}
}

func TestWriter(t *testing.T) {
	var w Writer
	all := func() string {
		w.Reset()
		w.Status("OK")
		w.Error("ERR a\r\nb")
		w.Int(math.MinInt64)
		w.Bulk([]byte("a\r\n"))
		w.BulkString("")
		w.Text("t")
		w.Null()
		w.NullArray()
		w.Array(0)
		w.Map(1)
		w.Set(2)
		w.Bool(true)
		w.Bool(false)
		w.Double(1.5)
		w.Double(math.Inf(-1))
		w.Double(math.Inf(1))
		return string(w.Bytes())
	}
	two := "+OK\r\n-ERR a  b\r\n:-9223372036854775808\r\n$3\r\na\r\n\r\n$0\r\n\r\n$1\r\nt\r\n$-1\r\n*-1\r\n*0\r\n*2\r\n*2\r\n:1\r\n:0\r\n$3\r\n1.5\r\n$4\r\n-inf\r\n$3\r\ninf\r\n"
	three := "+OK\r\n-ERR a  b\r\n:-9223372036854775808\r\n$3\r\na\r\n\r\n$0\r\n\r\n=5\r\ntxt:t\r\n_\r\n_\r\n*0\r\n%1\r\n~2\r\n#t\r\n#f\r\n,1.5\r\n,-inf\r\n,inf\r\n"
	if got := all(); got != two || w.Version() != 2 {
		t.Errorf("RESP2: %q\nwant   %q", got, two)
	}
	w.SetVersion(3)
	if got := all(); got != three || w.Version() != 3 {
		t.Errorf("RESP3: %q\nwant   %q", got, three)
	}
	w.Reset()
	w.Limit(10)
	for range 3 {
		w.BulkString("four")
	}
	if string(w.Bytes()) != "$4\r\nfour\r\n" || !w.Over() {
		t.Errorf("with a limit: %q", w.Bytes())
	}
	if w.Reset(); w.Over() {
		t.Error("Reset does not forget that the limit was exceeded")
	}
}

// FuzzReader: for any input, split anywhere, there is no panic, no argument
// outside the input, and the commands are the same as in one piece. Written in
// the usual form, the commands read as the same again.
func FuzzReader(f *testing.F) {
	for _, c := range streams {
		f.Add([]byte(c.in), uint8(3))
	}
	f.Fuzz(func(t *testing.T, in []byte, step uint8) {
		whole, err := collect(bytes.NewReader(in), testLimits, 1<<20)
		parts, errParts := collect(&steps{in, int(step)%17 + 1}, testLimits, 2)
		if !reflect.DeepEqual(whole, parts) || err.Error() != errParts.Error() {
			t.Fatalf("%q in one: %q, %v; in steps: %q, %v", in, whole, err, parts, errParts)
		}
		var again bytes.Buffer
		for _, c := range whole {
			fmt.Fprintf(&again, "*%d\r\n", len(c))
			for _, a := range c {
				fmt.Fprintf(&again, "$%d\r\n%s\r\n", len(a), a)
			}
		}
		if back, _ := collect(&again, Limits{}, 5); !reflect.DeepEqual(whole, back) {
			t.Fatalf("%q: %q became %q", in, whole, back)
		}
	})
}

type steps struct {
	in   []byte
	size int
}

func (s *steps) Read(b []byte) (int, error) {
	if len(s.in) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), s.size)], s.in)
	s.in = s.in[n:]
	return n, nil
}

func BenchmarkReader(b *testing.B) {
	src := &loop{text: bytes.Repeat([]byte("*3\r\n$5\r\nPFADD\r\n$1\r\nk\r\n$7\r\nelement\r\n"), 50)}
	r := NewReader(Limits{})
	n := 0
	for b.Loop() {
		for n == 0 {
			commands, err := r.Batch(64)
			if err != nil {
				b.Fatal(err)
			}
			if n = len(commands); n == 0 {
				if err := r.Fill(src); err != nil {
					b.Fatal(err)
				}
			}
		}
		n--
	}
}
