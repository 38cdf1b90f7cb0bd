package hll

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"weir/internal/redistest"
)

// A mirror sends a command to the real redis-server and calls the same method
// here. It fails when reply or bytes differ.
type mirror struct {
	t         *testing.T
	srv       *redistest.Server
	sparseMax int
	keys      map[string]*String
	commands  int
}

func newMirror(t *testing.T) *mirror {
	m := &mirror{t: t, srv: redistest.Start(t), keys: map[string]*String{}}
	m.limit(DefaultSparseMax)
	return m
}

func (m *mirror) limit(sparseMax int) {
	m.srv.Do(m.t, "CONFIG", "SET", "hll-sparse-max-bytes", sparseMax)
	m.sparseMax = sparseMax
}

func (m *mirror) key(name string) *String {
	if m.keys[name] == nil {
		m.keys[name] = new(String)
	}
	return m.keys[name]
}

// same compares a reply, with errors as the text Redis sends.
func (m *mirror) same(redis, ours any, err error, what string, args ...any) {
	m.t.Helper()
	m.commands++
	if err != nil {
		ours = redistest.Error(err.Error())
	}
	if redis != ours {
		m.t.Fatalf("%s: redis replies %v, we %v", fmt.Sprintf(what, args...), redis, ours)
	}
}

func (m *mirror) sameBytes(name string) {
	m.t.Helper()
	redis := m.srv.Do(m.t, "GET", name)
	ours := *m.key(name)
	if redis == nil {
		if ours != nil {
			m.t.Fatalf("%s: redis has none, we have %d bytes", name, len(ours))
		}
		return
	}
	if r := redis.(string); r != string(ours) {
		m.t.Fatalf("%s: redis has %d bytes, we %d; first difference at %d\nredis %.80x\nours  %.80x", name, len(r), len(ours), firstDifference([]byte(r), ours), r, ours)
	}
}

func firstDifference(a, b []byte) int {
	for i := range min(len(a), len(b)) {
		if a[i] != b[i] {
			return i
		}
	}
	return min(len(a), len(b))
}

func (m *mirror) set(name string, v []byte) {
	m.srv.Do(m.t, "SET", name, v)
	*m.key(name) = bytes.Clone(v)
}

func (m *mirror) add(name string, elements ...[]byte) {
	m.t.Helper()
	args := []any{"PFADD", name}
	for _, e := range elements {
		args = append(args, e)
	}
	changed, err := m.key(name).Add(m.sparseMax, elements...)
	m.same(m.srv.Do(m.t, args...), bit(changed), err, "PFADD %s of %d", name, len(elements))
}

func (m *mirror) count(names ...string) {
	m.t.Helper()
	args := []any{"PFCOUNT"}
	list := []String{}
	for _, n := range names {
		args = append(args, n)
		list = append(list, *m.key(n))
	}
	var n uint64
	var err error
	if len(names) == 1 {
		n, _, err = m.key(names[0]).Count()
	} else {
		n, err = CountStrings(list...)
	}
	m.same(m.srv.Do(m.t, args...), int64(n), err, "PFCOUNT %v", names)
}

func (m *mirror) merge(dst string, names ...string) {
	m.t.Helper()
	args := []any{"PFMERGE", dst}
	list := []String{}
	for _, n := range names {
		args = append(args, n)
		list = append(list, *m.key(n))
	}
	err := m.key(dst).Merge(m.sparseMax, list...)
	m.same(m.srv.Do(m.t, args...), "OK", err, "PFMERGE %s %v", dst, names)
}

func (m *mirror) debug(name string) {
	m.t.Helper()
	v := m.key(name)
	text, err := v.Encoding()
	m.same(m.srv.Do(m.t, "PFDEBUG", "ENCODING", name), text, err, "PFDEBUG ENCODING %s", name)
}

func (m *mirror) toDense(name string) {
	m.t.Helper()
	converted, err := m.key(name).ToDense()
	m.same(m.srv.Do(m.t, "PFDEBUG", "TODENSE", name), bit(converted), err, "PFDEBUG TODENSE %s", name)
}

func (m *mirror) registers(name string) {
	m.t.Helper()
	redis := m.srv.Do(m.t, "PFDEBUG", "GETREG", name)
	if _, err := m.key(name).ToDense(); err != nil {
		m.same(redis, nil, err, "PFDEBUG GETREG %s", name)
		return
	}
	ours, err := m.key(name).Registers(nil)
	if err != nil {
		m.t.Fatal(err)
	}
	m.commands++
	for i, r := range redis.([]any) {
		if r != int64(ours[i]) {
			m.t.Fatalf("PFDEBUG GETREG %s: register %d is %v in redis, %d here", name, i, r, ours[i])
		}
	}
}

func bit(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// elements makes k random elements of a universe, so that some repeat.
func elements(r *rand.Rand, k, universe int) [][]byte {
	list := make([][]byte, k)
	for i := range list {
		list[i] = fmt.Appendf(nil, "user:%d", r.IntN(universe))
	}
	return list
}

// Random commands to a handful of keys: after each, Redis and this package
// must agree on the reply and on every byte of the key.
func TestRedisCommands(t *testing.T) {
	m := newMirror(t)
	r := rand.New(rand.NewPCG(1, 1))
	name := func() string { return fmt.Sprintf("k%d", r.IntN(6)) }
	for round := range 60 {
		// Small limits make keys of every size go through promotion.
		m.limit([]int{DefaultSparseMax, DefaultSparseMax, 0, 17, 18, 40, 300, 1500, 20000}[round%9])
		m.srv.Do(t, "FLUSHALL")
		clear(m.keys)
		universe := []int{5, 60, 1000, 5000, 300000}[r.IntN(5)]
		for range 50 {
			k := name()
			switch r.IntN(12) {
			case 0, 1, 2, 3, 4:
				m.add(k, elements(r, r.IntN(4)*r.IntN(4), universe)...)
			case 5:
				m.add(k, elements(r, r.IntN(600), universe)...)
			case 6, 7:
				m.count(k)
			case 8:
				m.count(name(), name(), k)
			case 9:
				m.merge(k, []string{name(), name(), name()}[:r.IntN(4)]...)
			case 10:
				if *m.key(k) != nil {
					m.debug(k)
				}
			case 11:
				if *m.key(k) != nil && r.IntN(4) == 0 {
					m.toDense(k)
					m.registers(k)
				}
			}
			m.sameBytes(k)
		}
	}
	t.Logf("%d commands compared", m.commands)
}

// One key grown element by element through its promotion, compared at each
// step, in several orders.
func TestRedisGrowth(t *testing.T) {
	m := newMirror(t)
	for seed := range uint64(4) {
		r := rand.New(rand.NewPCG(seed, 2))
		m.limit(100 + 700*int(seed))
		k := fmt.Sprint("grow", seed)
		for range 1200 {
			m.add(k, elements(r, 1, 1<<30)...)
			m.sameBytes(k)
			if d, _ := m.key(k).Encoding(); d == "dense" && r.IntN(20) == 0 {
				break
			}
		}
	}
}

// Strings that only look like a HyperLogLog, or are damaged inside.
func TestRedisDamaged(t *testing.T) {
	m := newMirror(t)
	r := rand.New(rand.NewPCG(3, 3))
	var sparse, dense String
	sparse.Add(DefaultSparseMax, elements(r, 300, 1<<20)...)
	dense.Add(0, elements(r, 3000, 1<<20)...)
	m.add("good", elements(r, 100, 1<<20)...)
	errs := 0
	for range 400 {
		var v []byte
		switch r.IntN(5) {
		case 0: // random opcodes
			v = bytes.Clone(NewString()[:headerBytes])
			for total := 0; total < Registers-r.IntN(2)*r.IntN(3000); {
				op := []byte{byte(r.Uint32())}
				if op[0]&0xc0 == 0x40 {
					if r.IntN(8) != 0 {
						op[0] = byte(r.IntN(64))
					} else {
						op = append(op, byte(r.Uint32()))
						op[0] &= 0x47
					}
				}
				o, err := opcodeAt(op)
				if err != nil {
					t.Fatal(err)
				}
				if r.IntN(1000) != 0 && o.run > Registers-total {
					op = appendZeros(nil, Registers-total)
					o.run = Registers - total
				}
				v = append(v, op...)
				total += o.run
			}
		case 1: // a changed byte
			v = bytes.Clone(sparse)
			i := r.IntN(len(v))
			if v[i]&0xc0 == 0x40 || i == len(v)-1 {
				continue // would end in the middle of an opcode: see TestTruncatedOpcode
			}
			v[i] = v[i]&0xc0 | byte(r.IntN(64))
		case 2: // a changed header
			v = bytes.Clone([][]byte{sparse, dense}[r.IntN(2)])
			v[r.IntN(headerBytes)] = byte(r.IntN(4))
		case 3: // another length
			v = bytes.Clone(dense[:r.IntN(len(dense)+1)])
			if r.IntN(3) == 0 {
				v = append(dense[:len(dense):len(dense)], 0)
			}
		case 4: // ranks no hash can have
			v = bytes.Clone(dense)
			for range 1 + r.IntN(2000) {
				v[headerBytes+r.IntN(packedBytes)] = byte(r.Uint32())
			}
			if r.IntN(10) == 0 {
				for i := headerBytes; i < len(v); i++ {
					v[i] = 0xff
				}
			}
			v[15] |= 0x80
		}
		m.set("bad", v)
		before := m.commands
		m.count("bad")
		m.sameBytes("bad")
		m.count("good", "bad")
		m.merge("new", "good", "bad")
		m.sameBytes("new")
		m.add("bad", elements(r, r.IntN(4), 1<<20)...)
		m.sameBytes("bad")
		m.merge("bad", "good")
		m.sameBytes("bad")
		m.debug("bad")
		m.toDense("bad")
		m.registers("bad")
		m.sameBytes("bad")
		if m.key("bad").Check() != nil || m.commands == before {
			errs++
		}
		m.srv.Do(t, "DEL", "new")
		delete(m.keys, "new")
	}
	if errs < 20 {
		t.Errorf("only %d of 400 strings were refused by their header: the test is too tame", errs)
	}
}

// Opcodes that Redis itself would have joined. The result of an addition among
// them depends on where Redis begins to join, and when it stops.
func TestRedisUnjoined(t *testing.T) {
	m := newMirror(t)
	r := rand.New(rand.NewPCG(6, 6))
	for range 25 {
		v := bytes.Clone(NewString()[:headerBytes])
		for left := Registers; left > 0; {
			run := min(left, 1+r.IntN(4)*r.IntN(2))
			if r.IntN(8) == 0 {
				v = append(v, byte(run-1)) // ZERO
			} else {
				v = append(v, valByte(uint8(1+r.IntN(2)), run))
			}
			left -= run
		}
		m.limit(40000)
		m.set("k", v)
		for range 60 {
			m.add("k", elements(r, 1, 1<<30)...)
			m.sameBytes("k")
		}
	}
}

// Register contents that no stream of elements would reach in a test's time,
// set directly: the estimates must agree to the unit.
func TestRedisEstimates(t *testing.T) {
	m := newMirror(t)
	r := rand.New(rand.NewPCG(4, 4))
	one := func(d *registers) {
		v := bytes.Clone(NewString()[:headerBytes])
		v[4] = encodingDense
		v[15] = 0x80
		v = append(v, make([]byte, packedBytes)...)
		d.pack(v[headerBytes:])
		m.set("d", v)
		m.count("d")
		m.count("d", "none")
		m.sameBytes("d")
	}
	for rank := range uint8(MaxRank + 1) {
		var d registers
		for i := range d {
			d[i] = rank
		}
		one(&d)
		for range 3 {
			d[r.IntN(Registers)] = uint8(r.IntN(MaxRank + 1))
		}
		one(&d)
		for i := range d {
			if d[i] = 0; r.IntN(3) == 0 {
				d[i] = rank
			}
		}
		one(&d)
	}
	for range 150 {
		var d registers
		lo := r.IntN(MaxRank + 1)
		hi := lo + r.IntN(MaxRank+1-lo) + 1
		zeros := r.Float64()
		for i := range d {
			if r.Float64() > zeros {
				d[i] = uint8(lo + r.IntN(hi-lo))
			}
		}
		one(&d)
	}
	t.Logf("%d estimates compared", m.commands)
}

// AppendRedis must give what Redis' own PFMERGE gives for the same registers.
func TestRedisAppend(t *testing.T) {
	m := newMirror(t)
	r := rand.New(rand.NewPCG(5, 5))
	for round := range 40 {
		m.limit([]int{DefaultSparseMax, 0, 200, 5000}[round%4])
		var s Sketch
		names := []string{}
		for i := range 3 {
			// Sparse sources, whatever the limit of the result.
			var v String
			list := elements(r, []int{0, 1, 30, 400, 1500}[r.IntN(5)], 1<<30)
			v.Add(20000, list...)
			for _, e := range list {
				s.Add(e)
			}
			names = append(names, fmt.Sprint("s", i))
			m.set(names[i], v)
		}
		m.srv.Do(t, "DEL", "dst")
		delete(m.keys, "dst")
		m.merge("dst", names...)
		m.sameBytes("dst")
		if got := s.AppendRedis(nil, m.sparseMax); !bytes.Equal(got, *m.key("dst")) {
			t.Fatalf("limit %d: AppendRedis gives %d bytes, PFMERGE %d", m.sparseMax, len(got), len(*m.key("dst")))
		}
		var back Sketch
		if err := back.MergeRedis(*m.key("dst")); err != nil {
			t.Fatal(err)
		}
		if back.Count() != s.Count() || !bytes.Equal(back.AppendClickHouse(nil), s.AppendClickHouse(nil)) {
			t.Fatalf("MergeRedis(AppendRedis) is another sketch")
		}
	}
}

// Errors and replies whose text a client may depend on.
func TestRedisErrors(t *testing.T) {
	m := newMirror(t)
	m.set("text", []byte("not a hyperloglog at all"))
	m.set("empty", []byte{})
	for _, k := range []string{"text", "empty"} {
		m.add(k, []byte("x"))
		m.count(k)
		m.count("none", k)
		m.merge("dst", k)
		m.sameBytes("dst")
		m.debug(k)
		m.toDense(k)
		m.registers(k)
	}
	m.count("none")
	m.count("none", "nothing")
	m.add("made")
	m.sameBytes("made")
	m.add("made")
	m.merge("merged")
	m.sameBytes("merged")
	v := NewString()
	binary.LittleEndian.PutUint64(v[8:], 123456)
	m.set("cached", v)
	m.count("cached") // the cached count is returned, even if the registers say otherwise
	m.toDense("cached")
	m.count("cached")
	m.sameBytes("cached")
	if _, err := m.key("text").Encoding(); !errors.Is(err, ErrNotHLL) {
		t.Errorf("Encoding of text: %v", err)
	}
}
