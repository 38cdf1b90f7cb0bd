package hll

import (
	"bytes"
	"errors"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
)

// hostile are strings that crashed or misled some implementation.
func hostile() map[string]String {
	header := NewString()[:headerBytes:headerBytes]
	dense := make(String, denseBytes)
	copy(dense, "HYLL")
	full := slices.Clone(dense)
	for i := headerBytes; i < len(full); i++ {
		full[i] = 0xff // rank 63 everywhere
	}
	return map[string]String{
		// CVE-2025-32023: 131,073 runs of 16,384 zeros overflow a 32-bit sum
		// of registers, and the VAL after them writes before the array.
		"runs that overflow 2^31": append(append(header, bytes.Repeat([]byte{0x7f, 0xff}, 131073)...), 0x84),
		"one run too many":        append(header, 0x7f, 0xff, 0x00),
		"VAL beyond the end":      append(header, 0x7f, 0xff, 0x83),
		"VAL across the end":      append(header, 0x7f, 0xfd, 0x83),
		"too few registers":       append(header, 0x7f, 0xfe),
		"opcode cut off":          append(header, 0x7f, 0xfe, 0x7f),
		"only half an opcode":     append(header, 0x7f),
		"no opcodes":              header,
		"nothing":                 {},
		"header cut off":          header[:15],
		"dense too short":         dense[:denseBytes-1],
		"dense too long":          append(dense, 0),
		"unknown encoding":        append(String("HYLL\x02"), dense[5:]...),
		"impossible ranks":        full,
	}
}

// use calls everything that reads a string from outside and returns how many
// calls refused it.
func use(t *testing.T, in String, sparseMax int, element []byte) (refused int) {
	check := func(what string, v String, err error) {
		t.Helper()
		if err == nil {
			return
		}
		refused++
		if !errors.Is(err, ErrNotHLL) && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("%s: error %v is none of Redis'", what, err)
		}
	}
	clone := func() String { return slices.Clone(in) }
	v := clone()
	n, _, err := v.Count()
	check("Count", v, err)
	if again, wrote, err2 := v.Count(); err == nil && (again != n || wrote || err2 != nil) {
		t.Fatalf("the count %d is %d, %v the second time", n, again, err2)
	}
	_, err = CountStrings(in, in)
	check("CountStrings", in, err)
	v = clone()
	_, err = v.Add(sparseMax, element, []byte("b"))
	check("Add", v, err)
	if err == nil {
		if again, err := v.Add(sparseMax, element, []byte("b")); again || err != nil {
			t.Fatalf("adding again: %v, %v", again, err)
		}
	}
	v = clone()
	err = v.Merge(sparseMax, in)
	check("Merge", v, err)
	if err != nil && !bytes.Equal(v, in) {
		t.Fatal("a failed Merge changed the string")
	}
	var made String
	err = made.Merge(sparseMax, in)
	check("Merge into nothing", made, err)
	if err == nil {
		a, _ := made.Registers(nil)
		b, _ := in.Registers(nil)
		if !bytes.Equal(a, b) {
			t.Fatal("Merge changed the registers")
		}
	}
	v = clone()
	_, err = v.ToDense()
	check("ToDense", v, err)
	_, err = in.Registers(nil)
	check("Registers", in, err)
	_, err = in.Encoding()
	check("Encoding", in, err)
	var s Sketch
	s.AddHash(1)
	err = s.MergeRedis(in)
	check("MergeRedis", in, err)
	if err != nil {
		if s.Count() != 1 {
			t.Fatal("a failed MergeRedis changed the sketch")
		}
		return refused
	}
	var back Sketch
	if err := back.MergeRedis(s.AppendRedis(nil, sparseMax)); err != nil || !bytes.Equal(back.AppendClickHouse(nil), s.AppendClickHouse(nil)) {
		t.Fatalf("AppendRedis and back: %v", err)
	}
	return refused
}

func TestHostileStrings(t *testing.T) {
	for name, v := range hostile() {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		if n := use(t, v, DefaultSparseMax, []byte("a")); n == 0 {
			t.Errorf("%s: taken by everything", name)
		}
		runtime.ReadMemStats(&after)
		if n := after.TotalAlloc - before.TotalAlloc; n > 500_000+40*uint64(len(v)) {
			t.Errorf("%s: %d bytes allocated for %d", name, n, len(v))
		}
	}
}

func FuzzString(f *testing.F) {
	for _, v := range hostile() {
		if len(v) < 1<<15 {
			f.Add([]byte(v), 100, []byte("a"))
		}
	}
	r := rand.New(rand.NewPCG(50, 1))
	for _, n := range []int{0, 3, 100} {
		var v String
		v.Add(DefaultSparseMax, elements(r, n, 1<<20)...)
		f.Add([]byte(v), DefaultSparseMax, []byte("x"))
	}
	f.Fuzz(func(t *testing.T, v []byte, sparseMax int, element []byte) {
		if v == nil {
			v = []byte{}
		}
		use(t, v, sparseMax, element)
	})
}

// Opcodes alone, so that the fuzzer spends its time behind the header.
func FuzzSparse(f *testing.F) {
	f.Add([]byte{0x7f, 0xff}, []byte("abc"))
	f.Add([]byte{0x60, 0xf3, 0x80, 0x50, 0xb1, 0x84, 0x4b, 0xfb, 0x80, 0x42, 0x5a}, []byte("abc"))
	f.Add([]byte{0x80, 0x80, 0x80, 0x83, 0x83, 0x80, 0x7f, 0xf2}, []byte("abc"))
	f.Fuzz(func(t *testing.T, opcodes, elements []byte) {
		v := append(NewString()[:headerBytes], opcodes...)
		before, err := v.Registers(nil)
		for i := range elements {
			if _, e := v.Add(300, elements[i:i+1]); e != nil && err == nil {
				t.Fatalf("whole opcodes, but Add: %v", e)
			}
		}
		if err != nil {
			return
		}
		after, err := v.Registers(nil)
		if err != nil {
			t.Fatalf("Add broke the string: %v", err)
		}
		for _, c := range elements {
			i, r := split(Hash([]byte{c}))
			before[i] = max(before[i], r)
		}
		if !bytes.Equal(before, after) {
			t.Fatal("other registers than those of the elements")
		}
		use(t, v, 300, elements)
	})
}

func FuzzClickHouse(f *testing.F) {
	var s Sketch
	for i := range uint64(3) {
		f.Add(s.AppendClickHouse(nil))
		for k := range 20 * (i + 1) {
			s.AddHash(Hash([]byte{byte(i), byte(k)}))
		}
	}
	f.Add([]byte{2, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0x7f})
	f.Add([]byte{1, 17})
	f.Add([]byte{3})
	f.Fuzz(func(t *testing.T, b []byte) {
		var s Sketch
		n, err := s.MergeClickHouse(b)
		if err != nil {
			if !errors.Is(err, ErrState) || n != 0 || s.Count() != 0 {
				t.Fatalf("n=%d, error %v", n, err)
			}
			return
		}
		if n < 2 || n > len(b) {
			t.Fatalf("%d bytes of %d", n, len(b))
		}
		state := s.AppendClickHouse(nil)
		var back Sketch
		var p Pool
		p.Grow(1)
		if k, err := back.MergeClickHouse(state); err != nil || k != len(state) {
			t.Fatalf("our own state: %d of %d bytes, %v", k, len(state), err)
		}
		if _, err := p.MergeClickHouse(0, b); err != nil {
			t.Fatalf("the pool refuses it: %v", err)
		}
		if !bytes.Equal(back.AppendClickHouse(nil), state) || !bytes.Equal(p.AppendClickHouse(nil, 0), state) {
			t.Fatal("the state changes on its way out and in")
		}
	})
}
