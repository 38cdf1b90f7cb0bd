package bitmap

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"weir/internal/redistest"
)

// A keyspace runs the bitmap commands on this package, as a server does. The
// tests below compare it with a redis-server.
type keyspace map[string][]byte

func failed(err error) any { return redistest.Error("ERR " + err.Error()) }

// bitOf reads a bit of SETBIT or BITPOS.
func bitOf(text string, refused error) (int, error) {
	n, err := ParseInt(text)
	if n&^1 != 0 || err != nil && errors.Is(refused, ErrBit) {
		err = refused
	}
	return int(n), err
}

func (ks keyspace) do(args []string) any {
	b, exists := ks[args[1]]
	switch args[0] {
	case "GET":
		if !exists {
			return nil
		}
		return string(b)
	case "SETBIT":
		off, err := ParseOffset(args[2])
		if err != nil {
			return failed(err)
		}
		bit, err := bitOf(args[3], ErrBit)
		if err != nil {
			return failed(err)
		}
		b, old := SetBit(b, off, bit)
		ks[args[1]] = b
		return int64(old)
	case "GETBIT":
		off, err := ParseOffset(args[2])
		if err != nil {
			return failed(err)
		}
		return int64(GetBit(b, off))
	case "BITCOUNT":
		switch {
		case !exists:
			return int64(0)
		case len(args) == 2:
			return int64(Count(b))
		case len(args) == 3 || len(args) > 5:
			return failed(ErrSyntax)
		}
		start, end, unit, err := bounds(args[2:])
		if err != nil {
			return failed(err)
		}
		return int64(CountIn(b, start, end, unit))
	case "BITPOS":
		bit, err := bitOf(args[2], ErrBitArg)
		if err != nil {
			return failed(err)
		}
		if !exists {
			return int64(-bit)
		}
		switch len(args) {
		case 3:
			return PosFrom(b, bit, 0)
		case 4:
			start, err := ParseInt(args[3])
			if err != nil {
				return failed(err)
			}
			return PosFrom(b, bit, start)
		}
		start, end, unit, err := bounds(args[3:])
		if err != nil {
			return failed(err)
		}
		return PosIn(b, bit, start, end, unit)
	case "BITOP":
		op, err := ParseOperation(args[1])
		if err != nil {
			return failed(err)
		}
		src := make([][]byte, len(args)-3)
		for i, key := range args[3:] {
			src[i] = ks[key]
		}
		out, err := Op(nil, op, src...)
		if err != nil {
			return failed(err)
		}
		if len(out) == 0 {
			delete(ks, args[2])
		} else {
			ks[args[2]] = out
		}
		return int64(len(out))
	case "BITFIELD", "BITFIELD_RO":
		ops, err := ParseFieldOps(args[2:], args[0] == "BITFIELD_RO")
		if err != nil {
			return failed(err)
		}
		b, replies, _ := Fields(b, ops, nil)
		for _, op := range ops {
			if op.Kind != FieldGet {
				ks[args[1]] = b
			}
		}
		out := make([]any, len(replies))
		for i, r := range replies {
			if !r.Null {
				out[i] = r.Value
			}
		}
		return out
	}
	panic(args[0])
}

// bounds reads "start end [unit]".
func bounds(args []string) (start, end int64, unit Unit, err error) {
	if len(args) > 3 {
		return 0, 0, 0, ErrSyntax
	}
	if start, err = ParseInt(args[0]); err != nil {
		return
	}
	if len(args) == 3 {
		// Redis reads the unit before it reads the end in BITPOS and after it
		// in BITCOUNT; the tests send one bad argument at a time.
		if unit, err = ParseUnit(args[2]); err != nil {
			return
		}
	}
	end, err = ParseInt(args[1])
	return
}

// TestRedisSaysTheSame sends the same random commands to a redis-server and to
// this package, and compares every reply, and every byte of the keys.
func TestRedisSaysTheSame(t *testing.T) {
	srv := redistest.Start(t)
	r := rand.New(rand.NewPCG(2026, 7))
	ks := keyspace{}
	const rounds, perRound = 600, 100
	for range rounds {
		var sent [][]string
		var want []any
		send := func(args ...string) {
			sent = append(sent, args)
			want = append(want, ks.do(args))
		}
		for range perRound {
			send(command(r)...)
		}
		for i := range keys {
			send("GET", keyName(i))
		}
		conn := srv.Conn()
		for _, args := range sent {
			if err := conn.Send(anys(args)...); err != nil {
				t.Fatal(err)
			}
		}
		if err := conn.Flush(); err != nil {
			t.Fatal(err)
		}
		for i, args := range sent {
			got, err := conn.Receive()
			if err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want[i]) {
				t.Fatalf("%q: redis-server says %.200q, we say %.200q", args, got, want[i])
			}
		}
		if r.IntN(4) == 0 { // start again from short, random strings
			for i := range keys {
				delete(ks, keyName(i))
				srv.Do(t, "DEL", keyName(i))
				if n := r.IntN(40); n > 0 {
					b := randomBytes(r, n)
					ks[keyName(i)] = b
					srv.Do(t, "SET", keyName(i), b)
				}
			}
		}
	}
}

const keys = 5

func keyName(i int) string { return "k" + strconv.Itoa(i) }

func anys(args []string) []any {
	out := make([]any, len(args))
	for i, a := range args {
		out[i] = a
	}
	return out
}

// randomBytes mixes noise with long runs of zeros and of ones, where the
// edges of ranges matter.
func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	fill := []byte{0, 0xff, 1, 0x80, 0xfe}[r.IntN(5)]
	for i := range b {
		b[i] = fill
		if r.IntN(4) == 0 {
			b[i] = byte(r.Uint32())
		}
	}
	return b
}

// index draws a start or end, mostly near the ends of short strings.
func index(r *rand.Rand) string {
	switch r.IntN(40) {
	case 0:
		return strconv.FormatInt(-1<<63, 10)
	case 1:
		return strconv.FormatInt(1<<62, 10)
	}
	return strconv.Itoa(r.IntN(700) - 350 + []int{0, 300, -300}[r.IntN(3)]/(1+r.IntN(20)))
}

func offset(r *rand.Rand) string {
	switch r.IntN(60) {
	case 0:
		return []string{"-1", "", "a", "01", "1.5", " 1", "+1", "-0", "4294967296", "99999999999999999999"}[r.IntN(10)]
	case 1:
		return "#" + strconv.Itoa(r.IntN(20))
	}
	return strconv.Itoa(r.IntN(400))
}

func fieldType(r *rand.Rand) string {
	if r.IntN(50) == 0 {
		return []string{"u64", "i65", "i0", "u0", "x8", "i", "", "u08", "8", "i-1", "I8"}[r.IntN(11)]
	}
	if r.IntN(2) == 0 {
		return "u" + strconv.Itoa(1+r.IntN(63))
	}
	return "i" + strconv.Itoa(1+r.IntN(64))
}

// value draws a field's value or increment: small, near a power of two, or
// anything.
func value(r *rand.Rand) string {
	switch r.IntN(5) {
	case 0:
		return strconv.FormatInt(int64(r.IntN(20)-10), 10)
	case 1:
		return strconv.FormatInt(int64(r.Uint64()), 10)
	case 2:
		if r.IntN(10) == 0 {
			return []string{"", "9223372036854775808", "x", "-9223372036854775809", "1e3"}[r.IntN(5)]
		}
	}
	v := int64(1)<<r.IntN(64) + int64(r.IntN(3)-1)
	if r.IntN(2) == 0 {
		v = -v
	}
	return strconv.FormatInt(v, 10)
}

func command(r *rand.Rand) []string {
	key := keyName(r.IntN(keys))
	switch r.IntN(8) {
	case 0:
		return []string{"SETBIT", key, offset(r), []string{"0", "1", "1", "1", "2", "x"}[r.IntN(6)]}
	case 1:
		return []string{"GETBIT", key, offset(r)}
	case 2, 3:
		args := []string{"BITCOUNT", key}
		if r.IntN(10) == 0 {
			return append(args, [][]string{{}, {"1"}, {"1", "2", "BITS"}, {"1", "x"}, {"1", "2", "BIT", "3"}}[r.IntN(5)]...)
		}
		args = append(args, index(r), index(r))
		return append(args, [][]string{{}, {"BYTE"}, {"bit"}, {"BIT"}}[r.IntN(4)]...)
	case 4, 5:
		bit := strconv.Itoa(r.IntN(2))
		if r.IntN(50) == 0 {
			bit = []string{"2", "-1", "x"}[r.IntN(3)]
		}
		args := []string{"BITPOS", key, bit}
		switch r.IntN(6) {
		case 0:
			return args
		case 1:
			return append(args, index(r))
		case 2:
			return append(args, index(r), index(r))
		}
		return append(args, index(r), index(r), []string{"BYTE", "BIT", "bit"}[r.IntN(3)])
	case 6:
		op := []string{"AND", "or", "XOR", "NOT", "Or", "NAND"}[r.IntN(6)]
		args := []string{"BITOP", op, key}
		for range 1 + r.IntN(4) {
			args = append(args, keyName(r.IntN(keys+1)))
		}
		return args
	}
	args := []string{[]string{"BITFIELD", "BITFIELD", "BITFIELD", "BITFIELD_RO"}[r.IntN(4)], key}
	for range r.IntN(5) {
		switch r.IntN(8) {
		case 0:
			args = append(args, "OVERFLOW", []string{"WRAP", "sat", "SAT", "FAIL", "FAIL", "MAX"}[r.IntN(6)])
		case 1, 2:
			args = append(args, "GET", fieldType(r), offset(r))
		case 3, 4, 5:
			args = append(args, "INCRBY", fieldType(r), offset(r), value(r))
		default:
			args = append(args, "set", fieldType(r), offset(r), value(r))
		}
	}
	if r.IntN(40) == 0 {
		args = append(args, []string{"GET", "SET", "PUT", "OVERFLOW"}[r.IntN(4)])
	}
	return args
}

// TestRedisCountsTheSameChanges compares with rdb_changes_since_last_save,
// by which Redis decides when to save and what to replicate.
func TestRedisCountsTheSameChanges(t *testing.T) {
	srv := redistest.Start(t)
	changes := func() (n int) {
		info := srv.Do(t, "INFO", "persistence").(string)
		if _, err := fmt.Sscanf(info[strings.Index(info, "rdb_changes_since_last_save:"):], "rdb_changes_since_last_save:%d", &n); err != nil {
			t.Fatal(err)
		}
		return n
	}
	r := rand.New(rand.NewPCG(8, 9))
	var b []byte
	for range 300 {
		args := []string{"BITFIELD", "k"}
		for range 1 + r.IntN(3) {
			args = append(args, "OVERFLOW", []string{"WRAP", "SAT", "FAIL"}[r.IntN(3)])
			args = append(args, []string{"SET", "INCRBY"}[r.IntN(2)], fmt.Sprintf("u%d", 1+r.IntN(9)), strconv.Itoa(r.IntN(1200)), strconv.Itoa(r.IntN(5)*r.IntN(200)))
		}
		ops, err := ParseFieldOps(args[2:], false)
		if err != nil {
			t.Fatal(err)
		}
		var want int
		b, _, want = Fields(b, ops, nil)
		before := changes()
		srv.Do(t, anys(args)...)
		if got := changes() - before; got != want {
			t.Fatalf("%q: Redis counts %d changes, we %d", args, got, want)
		}
	}
}
