package window

// An arena keeps pieces of bytes in blocks, which never move: so it grows without a copy, and
// the garbage collector finds one pointer for each block.
type arena struct {
	blocks  [][]byte // each as long as it is full
	filling int      // the block that is being filled, and the number of those that are full

	taken *arena // between take and leave: its blocks are…
	first uint32 // …those from this one on
}

// A place says where a piece lies. The zero place has nothing.
type place struct{ block, from, to uint32 }

const (
	blockLeast = 1 << 10
	blockMost  = 1 << 16 // of a block with several pieces
)

// put keeps a copy of a piece.
func (a *arena) put(piece []byte) place {
	if len(piece) == 0 {
		return place{}
	}
	for ; a.filling < len(a.blocks); a.filling++ {
		if b := a.blocks[a.filling]; len(b)+len(piece) <= cap(b) {
			a.blocks[a.filling] = append(b, piece...)
			return place{uint32(a.filling), uint32(len(b)), uint32(len(b) + len(piece))}
		}
	}
	size := min(blockMost, blockLeast<<min(len(a.blocks), 16))
	a.blocks = append(a.blocks, append(make([]byte, 0, max(size, len(piece))), piece...))
	return place{uint32(a.filling), 0, uint32(len(piece))}
}

// at returns a piece. The caller must not change it.
func (a *arena) at(p place) []byte {
	if p.to == 0 {
		return nil
	}
	return a.blocks[p.block][p.from:p.to:p.to]
}

// take makes the blocks of another arena its own, without a copy. Until leave, bring says where the
// pieces are. The other arena must not change any more. What was kept beyond the pieces of both
// is dropped: else it would be more each time.
func (a *arena) take(o *arena) {
	have := a.used()
	a.taken, a.first = o, uint32(len(have))
	a.blocks = append(have[:len(have):len(have)], o.used()...)
	a.filling = max(0, len(a.blocks)-1)
}

func (a *arena) used() [][]byte { return a.blocks[:min(a.filling+1, len(a.blocks))] }

// leave ends take.
func (a *arena) leave() { a.taken = nil }

// bring returns where a piece of another arena is in this one, which copies it unless it has
// taken the other.
func (a *arena) bring(o *arena, p place) place {
	if a.taken != o {
		return a.put(o.at(p))
	}
	p.block += a.first
	return p
}

// reset drops all pieces and keeps the blocks.
func (a *arena) reset() {
	for i := range a.blocks {
		a.blocks[i] = a.blocks[i][:0]
	}
	a.filling = 0
}

// bytes returns how many bytes are held.
func (a *arena) bytes() (n int) {
	for _, b := range a.blocks {
		n += cap(b)
	}
	return n + 24*cap(a.blocks)
}
