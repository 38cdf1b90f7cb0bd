package hll

import (
	"encoding/binary"
	"math/bits"
	"math/rand/v2"
	"testing"
)

// Hashes and registers of a real Redis.
func TestHash(t *testing.T) {
	for _, c := range []struct {
		in       string
		hash     uint64
		register uint32
	}{
		{"", 0xd8dfea6585bc9732, 5938},
		{"a", 0x53d2470a9b43b1a7, 12711},
		{"b", 0xf10cdf96c004fda4, 15780},
		{"c", 0x7585a45533f260f4, 8436},
		{"foo", 0xe64609b8b0141cb4, 7348},
		{"0123456789abcdef", 0x9f8565428eaa573d, 5949},
	} {
		h := Hash([]byte(c.in))
		if i, _ := split(h); h != c.hash || i != c.register {
			t.Errorf("Hash(%q) = %x, register %d, want %x, %d", c.in, h, i, c.hash, c.register)
		}
	}
}

// MurmurHash64A as published: words from the left, the rest byte by byte.
func naiveMurmur(b []byte) uint64 {
	h := murmurSeed ^ uint64(len(b))*murmurMul
	for ; len(b) >= 8; b = b[8:] {
		k := uint64(0)
		for i := range 8 {
			k |= uint64(b[i]) << (8 * i)
		}
		k *= murmurMul
		k ^= k >> 47
		k *= murmurMul
		h ^= k
		h *= murmurMul
	}
	for i, c := range b {
		h ^= uint64(c) << (8 * i)
	}
	if len(b) > 0 {
		h *= murmurMul
	}
	h ^= h >> 47
	h *= murmurMul
	h ^= h >> 47
	return h
}

// TestHashOfShort: the hash of up to eight bytes tells what they are, if their number is known. Package window relies on it.
func TestHashOfShort(t *testing.T) {
	inverse := uint64(1)
	for range 6 { // Newton's method doubles the right bits
		inverse *= 2 - murmurMul*inverse
	}
	undo := func(h uint64) uint64 { return (h ^ h>>47) * inverse }
	r := rand.New(rand.NewPCG(70, 2))
	for range 20000 {
		word, n := r.Uint64(), 1+r.IntN(8)
		word >>= 64 - 8*n
		key := binary.LittleEndian.AppendUint64(nil, word)[:n]
		got := undo(undo(Hash(key))) ^ murmurSeed ^ uint64(n)*murmurMul
		if n == 8 {
			got = undo(got * inverse)
		}
		if got != word {
			t.Fatalf("%x: the hash stands for %x", key, got)
		}
	}
}

func TestHashTwin(t *testing.T) {
	r := rand.New(rand.NewPCG(70, 1))
	memory := make([]byte, 200)
	for range 20000 {
		for i := range memory {
			memory[i] = byte(r.Uint32())
		}
		from := r.IntN(100)
		b := memory[from : from+r.IntN(100)]
		if got, want := Hash(b), naiveMurmur(b); got != want {
			t.Fatalf("Hash(%x) = %x, want %x", b, got, want)
		}
	}
}

func TestSplit(t *testing.T) {
	for k := range uint(51) {
		h := uint64(1)<<(14+k) | 77
		if k == 50 {
			h = 77
		}
		for _, above := range []uint64{0, 1<<63 | 1<<40} {
			h := h
			if k < 26 {
				h |= above
			}
			if i, r := split(h); i != 77 || r != uint8(k+1) {
				t.Errorf("split(%x) = %d, %d, want 77, %d", h, i, r, k+1)
			}
			e := entryOf(h)
			if e.register() != 77 || e.rank() != uint8(k+1) {
				t.Errorf("entryOf(%x) = %d, %d", h, e.register(), e.rank())
			}
			if entryOf(e.hash()) != e {
				t.Errorf("the made-up hash %x of %x is another entry", e.hash(), h)
			}
		}
	}
}

// The first vectors of the reference implementation: key 00 01 … 0f, input
// 00 01 … of each length.
func TestKeyedHash(t *testing.T) {
	var key [16]byte
	for i := range key {
		key[i] = byte(i)
	}
	var in []byte
	for n, want := range map[int]uint64{0: 0x726fdb47dd0e0e31, 1: 0x74f839c593dc67fd, 2: 0x0d6c8009d9a94f5a, 8: 0x93f5f5799a932462, 15: 0xa129ca6149be45e5} {
		in = in[:0]
		for i := range n {
			in = append(in, byte(i))
		}
		if got := KeyedHash(key, in); got != want {
			t.Errorf("KeyedHash of %d bytes = %x, want %x", n, got, want)
		}
	}
	// Both halves of the key and every byte of a longer input matter.
	in = make([]byte, 40)
	base := KeyedHash(key, in)
	for i := range in {
		in[i] = 1
		if KeyedHash(key, in) == base {
			t.Errorf("byte %d does not matter", i)
		}
		in[i] = 0
	}
	for i := range key {
		key[i]++
		if d := bits.OnesCount64(KeyedHash(key, in) ^ base); d < 10 {
			t.Errorf("byte %d of the key changes %d bits", i, d)
		}
		key[i]--
	}
}
