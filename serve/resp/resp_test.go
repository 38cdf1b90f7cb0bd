package resp

import (
	"bytes"
	"fmt"
	"io"
	"math"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/iotest"
)

// collect reads everything and returns copies. After every other batch it calls
// Unread for all but the first command, and reads these again.
func collect(src io.Reader, l Limits, most int) (list [][]string, err error) {
	r, room := NewReader(l), NewRoom(64, 1<<20)
	for {
		ended := r.Fill(room, src)
		for turn := 0; ; turn++ {
			commands, err := r.Batch(room, most)
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
			taken := len(commands)
			if turn%2 == 0 {
				taken = 1
			}
			for _, args := range commands[:taken] {
				var c []string
				for _, a := range args {
					c = append(c, string(a))
				}
				list = append(list, c)
			}
			if taken < len(commands) {
				r.Unread(room, len(commands)-taken)
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
	{"quotes", `SET "a b\x41\n\"\\\q" 'it\'s \n' ""` + "\r\n", [][]string{{"SET", "a bA\n\"\\q", `it's \n`, ""}}, "EOF"},
	{"quote in word", `SET a"b c" d` + "\n", [][]string{{"SET", "ab c", "d"}}, "EOF"},
	{"half hex", `ECHO "\x4"` + "\n", [][]string{{"ECHO", "x4"}}, "EOF"},
	{"mixed", "PING\r\n*1\r\n$4\r\nQUIT\r\nPING\n", [][]string{{"PING"}, {"QUIT"}, {"PING"}}, "EOF"},
	{"half", "*2\r\n$3\r\nGET\r\n$5\r\nabc", nil, "EOF"},
	{"commands before the error", "PING\r\n*x\r\n", [][]string{{"PING"}}, "Protocol error: invalid multibulk length"},
	{"two commands before the error", "0\r\n0\r\n\"\n", [][]string{{"0"}, {"0"}}, "Protocol error: unbalanced quotes in request"},
	{"open quote", "SET \"a\r\n", nil, "Protocol error: unbalanced quotes in request"},
	{"quote and no blank", "SET \"a\"b\r\n", nil, "Protocol error: unbalanced quotes in request"},
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
	r, room := NewReader(Limits{}), NewRoom(1024, 0)
	if err := r.Fill(room, strings.NewReader("*1000000\r\n$536870912\r\nabc")); err != nil {
		t.Fatal(err)
	}
	if commands, err := r.Batch(room, 1); len(commands) > 0 || err != nil || cap(r.held) > 64 || !r.Partial() {
		t.Fatalf("%q, %v, %d bytes held", commands, err, cap(r.held))
	}
}

// TestMemory: a Reader holds the memory of an incomplete command, and none
// otherwise.
func TestMemory(t *testing.T) {
	var in bytes.Buffer
	r, room := NewReader(Limits{}), NewRoom(4096, 0)
	send := func(size, commands int) (most int) {
		t.Helper()
		for range commands {
			fmt.Fprintf(&in, "*1\r\n$%d\r\n%s\r\n", size, strings.Repeat("x", size))
		}
		for in.Len() > 0 {
			if err := r.Fill(room, &in); err != nil {
				t.Fatal(err)
			}
			for {
				list, err := r.Batch(room, 64)
				if err != nil {
					t.Fatal(err)
				}
				if len(list) == 0 {
					break
				}
				commands -= len(list)
			}
			most = max(most, cap(r.held))
		}
		if commands != 0 || r.Partial() || cap(r.held) > heldIdle {
			t.Fatalf("%d commands of %d bytes missing, %d bytes held", commands, size, cap(r.held))
		}
		return most
	}
	if n := send(10<<20, 1); n < 4<<20 || n > 20<<20 {
		t.Errorf("%d bytes for a command of 10 MiB", n)
	}
	if n := send(100, 10_000); n > heldIdle {
		t.Errorf("%d bytes held within a pipeline of short commands", n)
	}
	if n := send(3000, 100); n > 2*4096 {
		t.Errorf("%d bytes held for commands of 3000", n)
	}
}

// TestGrowth: the buffer of a command of known length never has room for more than five
// times what has arrived, and all that it has been moved from is half as long at most.
func TestGrowth(t *testing.T) {
	const size = 8 << 20
	r, room := NewReader(Limits{}), NewRoom(64<<10, 0)
	in := strings.NewReader(fmt.Sprintf("*1\r\n$%d\r\n%s\r\n", size, strings.Repeat("x", size)))
	sum, last := 0, 0
	for in.Len() > 0 {
		if err := r.Fill(room, in); err != nil {
			t.Fatal(err)
		}
		if n := cap(r.held); n != last {
			sum, last = sum+n, n
		}
		if list, err := r.Batch(room, 1); err != nil || (len(list) == 1) != (in.Len() == 0) {
			t.Fatal(len(list), err)
		}
		if n := cap(r.held); n > 5*len(r.held)+heldIdle && in.Len() > 0 {
			t.Errorf("room for %d bytes when %d have arrived", n, len(r.held))
		}
	}
	if last < size || sum > last*8/5 {
		t.Errorf("%d bytes in all for a command of %d", sum, last)
	}
}

// TestLongBatches: a caller that runs one command of a batch and takes back the others
// makes the Reader parse each of them once if they are long; short ones come many at a
// time.
func TestLongBatches(t *testing.T) {
	const commands = 64
	for _, x := range []struct{ args, batches, most int }{
		{2 * batchArgs, commands, commands},
		{3, commands, commands * commands},
	} {
		one := fmt.Sprintf("*%d\r\n%s", x.args, strings.Repeat("$1\r\nx\r\n", x.args))
		r, room := NewReader(Limits{}), NewRoom(commands*len(one), 0)
		if err := r.Fill(room, strings.NewReader(strings.Repeat(one, commands))); err != nil {
			t.Fatal(err)
		}
		batches, parsed := 0, 0
		for {
			list, err := r.Batch(room, commands)
			if err != nil {
				t.Fatal(err)
			}
			if len(list) == 0 {
				break
			}
			batches++
			parsed += len(list)
			if x.args > batchArgs {
				r.Unread(room, len(list)-1)
			}
		}
		if x.args > batchArgs && (batches != commands || parsed != commands) || x.args < batchArgs && batches != 1 {
			t.Errorf("%d commands of %d arguments: parsed %d in %d batches", commands, x.args, parsed, batches)
		}
	}
}

// TestSpare: a Room keeps the buffers of long commands for the next ones, as many bytes as
// it may, also those of a Reader that ends within a command; two Readers never have the
// same one.
func TestSpare(t *testing.T) {
	const size, keeps = 300 << 10, 1 << 20
	room := NewRoom(4096, keeps)
	sum := func() (n int) {
		for _, s := range room.spare {
			n += cap(s)
		}
		return n
	}
	command := func(c byte) io.Reader {
		return strings.NewReader(fmt.Sprintf("*1\r\n$%d\r\n%s\r\n", size, bytes.Repeat([]byte{c}, size)))
	}
	type sender struct {
		*Reader
		src  io.Reader
		done bool
	}
	turn := func(s *sender, c byte) {
		t.Helper()
		if err := s.Fill(room, s.src); err != nil {
			t.Fatal(err)
		}
		for {
			list, err := s.Batch(room, 64)
			if err != nil {
				t.Fatal(err)
			}
			if len(list) == 0 {
				break
			}
			if len(list[0][0]) != size || bytes.Count(list[0][0], []byte{c}) != size {
				t.Fatalf("a command of %q has other bytes", c)
			}
			s.done = true
		}
		if sum() > keeps {
			t.Fatalf("%d bytes kept", sum())
		}
	}
	largest := func() (b []byte) {
		for _, s := range room.spare {
			if cap(s) > cap(b) {
				b = s
			}
		}
		return b[:1]
	}
	for range 5 { // two at a time
		a, b := &sender{Reader: NewReader(Limits{}), src: command('a')}, &sender{Reader: NewReader(Limits{}), src: command('b')}
		for !a.done || !b.done {
			if !a.done {
				turn(a, 'a')
			}
			if !b.done {
				turn(b, 'b')
			}
		}
	}
	if n := sum(); n < size {
		t.Errorf("%d bytes kept", n)
	}
	before := largest()
	c := &sender{Reader: NewReader(Limits{}), src: command('c')}
	for !c.done {
		turn(c, 'c')
	}
	if &largest()[0] != &before[0] {
		t.Error("the next command had another buffer")
	}
	d := &sender{Reader: NewReader(Limits{}), src: io.LimitReader(command('d'), size*2/3)}
	for d.Held() < size/2 {
		turn(d, 'd')
	}
	left := d.held
	d.Close(room)
	if !slices.ContainsFunc(room.spare, func(s []byte) bool { return &s[0] == &left[0] }) {
		t.Error("the buffer of a Reader that ended within a command was not kept")
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
	r, room := NewReader(Limits{}), NewRoom(4096, 0)
	var w Writer
	step := func() {
		if err := r.Fill(room, src); err != nil {
			t.Fatal(err)
		}
		for {
			commands, err := r.Batch(room, 64)
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
	n := w.Len()
	w.Int(1)
	w.Truncate(n)
	if string(w.Bytes()) != three {
		t.Error("Truncate left something")
	}
	if b := w.Take(); string(b) != three || w.Len() != 0 || w.Version() != 3 {
		t.Errorf("Take: %q", b)
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
	r, room := NewReader(Limits{}), NewRoom(64<<10, 0)
	n := 0
	for b.Loop() {
		for n == 0 {
			commands, err := r.Batch(room, 64)
			if err != nil {
				b.Fatal(err)
			}
			if n = len(commands); n == 0 {
				if err := r.Fill(room, src); err != nil {
					b.Fatal(err)
				}
			}
		}
		n--
	}
}
