package bitmap

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// bools returns the naive twin of a byte string: one bool per bit.
func bools(b []byte) []bool {
	out := make([]bool, 8*len(b))
	for i := range out {
		out[i] = b[i/8]&(0x80>>(i%8)) != 0
	}
	return out
}

func fromBools(v []bool) []byte {
	b := make([]byte, len(v)/8)
	for i, on := range v {
		if on {
			b[i/8] |= 0x80 >> (i % 8)
		}
	}
	return b
}

func TestSetBitGrows(t *testing.T) {
	// The room behind the slice may hold anything; the new bytes must be zeros.
	b := bytes.Repeat([]byte{0xff}, 64)[:1]
	b, old := SetBit(b, 100, 1)
	if want := append([]byte{0xff}, make([]byte, 11)...); old != 0 || !bytes.Equal(b, append(want, 8)) {
		t.Fatalf("old %d, bytes %x", old, b)
	}
	b, old = SetBit(b, 0, 0)
	if old != 1 || b[0] != 0x7f || GetBit(b, 0) != 0 || GetBit(b, 1) != 1 || GetBit(b, 1<<40) != 0 {
		t.Fatalf("old %d, bytes %x", old, b)
	}
	if b, _ = SetBit(nil, 8, 0); !bytes.Equal(b, []byte{0, 0}) {
		t.Fatalf("setting a 0 must grow the string, got %x", b)
	}
}

func TestOpAgainstBools(t *testing.T) {
	r := rand.New(rand.NewPCG(11, 12))
	names := []string{"AND", "OR", "XOR", "NOT", "DIFF", "DIFF1", "ANDOR", "ONE"}
	for trial := range 160 {
		op, err := ParseOperation(names[trial%len(names)])
		if err != nil || op.String() != names[trial%len(names)] {
			t.Fatal(op, err)
		}
		n := 1
		if op != Not {
			n = 2 + r.IntN(6)
		}
		src := make([][]byte, n)
		size := 0
		for i := range src {
			src[i] = randomBytes(r, r.IntN(3)*r.IntN(40)+r.IntN(2)*r.IntN(3*opBlock/2))
			size = max(size, len(src[i]))
		}
		want := make([]bool, 8*size)
		for bit := range want {
			ones, rest, first := 0, false, false
			for i := range src {
				if bit < 8*len(src[i]) && src[i][bit/8]&(0x80>>(bit%8)) != 0 {
					ones++
					first = first || i == 0
					rest = rest || i > 0
				}
			}
			want[bit] = [...]bool{ones == n, ones > 0, ones%2 == 1, ones == 0,
				first && !rest, !first && rest, first && rest, ones == 1}[trial%len(names)]
		}
		got, err := Op(bytes.Repeat([]byte{0xaa}, r.IntN(2*opBlock)), op, src...)
		if err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, fromBools(want)) {
			t.Fatalf("%v of %d sources of up to %d bytes is wrong", op, n, size)
		}
	}
}

func TestOpChecksItsSources(t *testing.T) {
	a := []byte{1}
	for _, c := range []struct {
		op   Operation
		n    int
		want string
	}{
		{Not, 2, "BITOP NOT must be called with a single source key."},
		{Diff, 1, "BITOP DIFF must be called with at least two source keys."},
		{Diff1, 1, "BITOP DIFF1 must be called with at least two source keys."},
		{AndOr, 1, "BITOP ANDOR must be called with at least two source keys."},
		{One, 0, "wrong number of arguments for 'bitop' command"},
		{One, 1, "<nil>"}, {And, 1, "<nil>"},
	} {
		_, err := Op(nil, c.op, [][]byte{a, a}[:c.n]...)
		if fmt.Sprint(err) != c.want {
			t.Errorf("%v of %d: %v, want %s", c.op, c.n, err, c.want)
		}
	}
}

func TestCountAndPosAgainstBools(t *testing.T) {
	r := rand.New(rand.NewPCG(13, 14))
	for range 3000 {
		b := randomBytes(r, r.IntN(70))
		v := bools(b)
		start, end := int64(r.IntN(1400)-700), int64(r.IntN(1400)-700)
		unit := Unit(r.IntN(2))
		first, last := span(b, start, end, unit)
		bit := r.IntN(2)
		ones, pos := uint64(0), int64(-1)
		for i := first; i <= last; i++ {
			if v[i] {
				ones++
			}
			if pos < 0 && v[i] == (bit == 1) {
				pos = i
			}
		}
		if got := PosIn(b, bit, start, end, unit); got != pos {
			t.Fatalf("PosIn(%x, %d, %d, %d, %d) = %d, want %d", b, bit, start, end, unit, got, pos)
		}
		if start < 0 && end < 0 && start > end {
			ones = 0
		}
		if got := CountIn(b, start, end, unit); got != ones {
			t.Fatalf("CountIn(%x, %d, %d, %d) = %d, want %d", b, start, end, unit, got, ones)
		}
	}
}

func TestPosOfBlanks(t *testing.T) {
	ones := bytes.Repeat([]byte{0xff}, 100)
	for _, c := range []struct {
		name      string
		got, want int64
	}{
		{"0 in all ones, no end", PosFrom(ones, 0, 0), 800},
		{"0 in all ones from the middle", PosFrom(ones, 0, 50), 800},
		{"0 in all ones, with an end", PosIn(ones, 0, 0, -1, Byte), -1},
		{"0 in all ones from behind the end", PosFrom(ones, 0, 100), -1},
		{"1 in zeros", PosFrom(make([]byte, 100), 1, 0), -1},
		{"1 in nothing", PosFrom(nil, 1, 0), -1},
		{"0 in nothing", PosFrom(nil, 0, 0), -1},
	} {
		if c.got != c.want {
			t.Errorf("%s: %d, want %d", c.name, c.got, c.want)
		}
	}
}

// TestFitAgainstClamping tries every value and a wide range of increments of
// all narrow types: where Redis's comparisons do not wrap around, they must
// say what plain arithmetic says.
func TestFitAgainstClamping(t *testing.T) {
	for width := uint8(1); width <= 6; width++ {
		for _, signed := range []bool{false, true} {
			ft := FieldType{signed, width}
			bottom, top := int64(0), int64(1)<<width-1
			if signed {
				bottom, top = -(int64(1) << (width - 1)), int64(1)<<(width-1)-1
			}
			for v := bottom; v <= top; v++ {
				for by := int64(-200); by <= 200; by++ {
					sum := v + by
					wrapped := ((sum-bottom)%(1<<width)+1<<width)%(1<<width) + bottom
					fits := sum >= bottom && sum <= top
					for mode, want := range map[Overflow]int64{Wrap: wrapped, Sat: min(max(sum, bottom), top), Fail: sum} {
						got, ok := ft.fit(v, by, mode)
						if ok != (fits || mode != Fail) || ok && got != want {
							t.Fatalf("%v: %d + %d with mode %d is %d, %v; want %d", ft, v, by, mode, got, ok, want)
						}
					}
				}
			}
		}
	}
}

// TestFieldsAgainstBools writes and reads fields of every width at every
// alignment.
func TestFieldsAgainstBools(t *testing.T) {
	r := rand.New(rand.NewPCG(15, 16))
	for width := uint8(1); width <= 64; width++ {
		for off := uint64(0); off < 24; off++ {
			b := randomBytes(r, 12)
			v := bools(b)
			x := r.Uint64()
			for i := range uint64(width) {
				v[off+i] = x>>(uint64(width)-1-i)&1 != 0
			}
			writeBits(b, off, uint(width), x)
			if !bytes.Equal(b, fromBools(v)) {
				t.Fatalf("writing %d bits at %d: %x, want %x", width, off, b, fromBools(v))
			}
			if got, want := readBits(b, off, uint(width)), x&(1<<width-1); got != want {
				t.Fatalf("reading %d bits at %d: %x, want %x", width, off, got, want)
			}
		}
	}
	if got := readBits([]byte{0xff}, 4, 8); got != 0xf0 {
		t.Errorf("bits past the end must read as zeros, got %x", got)
	}
}

// FuzzParseFieldOps: every operation that parses is in range, so that Fields
// does not panic, and every subcommand has its reply.
func FuzzParseFieldOps(f *testing.F) {
	f.Add("GET u8 0", false)
	f.Add("SET i64 #1 -9223372036854775808 OVERFLOW FAIL INCRBY u63 7 1", false)
	f.Add("get i1 4294967295", true)
	f.Add("OVERFLOW", false)
	f.Add("INCRBY u64 0 1", false)
	f.Fuzz(func(t *testing.T, args string, readOnly bool) {
		ops, err := ParseFieldOps(strings.Fields(args), readOnly)
		if err != nil {
			return
		}
		end := uint64(0)
		for _, op := range ops {
			if !op.Type.valid() || op.Offset >= 8*MaxBytes || readOnly && op.Kind != FieldGet {
				t.Fatalf("%q parses to %+v", args, op)
			}
			if op.Kind != FieldGet {
				end = max(end, (op.Offset+uint64(op.Type.Width)+7)/8)
			}
		}
		if end > 1<<20 {
			return
		}
		b, replies, changes := Fields(nil, ops, nil)
		if uint64(len(b)) != end || len(replies) != len(ops) || changes > len(ops) {
			t.Fatalf("%q: %d bytes, want %d; %d replies, want %d", args, len(b), end, len(replies), len(ops))
		}
	})
}
