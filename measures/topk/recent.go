package topk

import "encoding/binary"

// recent has the numbers of short keys that came lately, each in the slot that the key chooses. So
// the usual key of a top list, such as a country, is found without a hash and a search.
type recent [256]recentKey

type recentKey struct {
	word        uint64 // shortKey
	len, number uint32
}

// slot returns the slot of a key, and whether it has the number of the key; if not, the caller puts
// it there. There is no slot for a long key.
func (r *recent) slot(key []byte) (k *recentKey, known bool) {
	word, short := shortKey(key)
	if !short {
		return nil, false
	}
	k = &r[(word+uint64(len(key)))*0x9e3779b97f4a7c15>>56]
	if k.word == word && int(k.len) == len(key) {
		return k, true
	}
	k.word, k.len = word, uint32(len(key))
	return k, false
}

// shortKey returns a word that no other key of the same length has, if the key has 1 to 8 bytes.
func shortKey(key []byte) (word uint64, short bool) {
	switch n := len(key); {
	case n == 0 || n > 8:
		return 0, false
	case n >= 4:
		return uint64(binary.LittleEndian.Uint32(key))<<32 | uint64(binary.LittleEndian.Uint32(key[n-4:])), true
	default:
		return uint64(key[0])<<16 | uint64(key[n/2])<<8 | uint64(key[n-1]), true
	}
}
