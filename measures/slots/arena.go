package slots

// An Arena keeps pieces of bytes in blocks, which never move: so it grows without a copy, and
// the garbage collector finds one pointer for each block.
type Arena struct {
	blocks  [][]byte // each as long as it is full
	filling int      // the block that is being filled, and the number of those that are full

	taken *Arena // between Take and Leave: its blocks are…
	first uint32 // …those from this one on
}

// A Place says where a piece lies. The zero Place has nothing.
type Place struct{ block, from, to uint32 }

const (
	blockLeast = 1 << 10
	blockMost  = 1 << 16 // of a block with several pieces
)

// Put keeps a copy of a piece.
func (a *Arena) Put(piece []byte) Place {
	if len(piece) == 0 {
		return Place{}
	}
	for ; a.filling < len(a.blocks); a.filling++ {
		if b := a.blocks[a.filling]; len(b)+len(piece) <= cap(b) {
			a.blocks[a.filling] = append(b, piece...)
			return Place{uint32(a.filling), uint32(len(b)), uint32(len(b) + len(piece))}
		}
	}
	size := min(blockMost, blockLeast<<min(len(a.blocks), 16))
	a.blocks = append(a.blocks, append(make([]byte, 0, max(size, len(piece))), piece...))
	return Place{uint32(a.filling), 0, uint32(len(piece))}
}

// At returns a piece. The caller must not change it.
func (a *Arena) At(p Place) []byte {
	if p.to == 0 {
		return nil
	}
	return a.blocks[p.block][p.from:p.to:p.to]
}

// Take makes the blocks of another Arena its own, without a copy. Until Leave, Bring says where the
// pieces are. The other Arena must not change any more. What was kept beyond the pieces of both
// is dropped: else it would be more each time.
func (a *Arena) Take(o *Arena) {
	have := a.used()
	a.taken, a.first = o, uint32(len(have))
	a.blocks = append(have[:len(have):len(have)], o.used()...)
	a.filling = max(0, len(a.blocks)-1)
}

func (a *Arena) used() [][]byte { return a.blocks[:min(a.filling+1, len(a.blocks))] }

// Leave ends Take. The other Arena is empty then.
func (a *Arena) Leave() {
	*a.taken = Arena{}
	a.taken = nil
}

// Bring returns where a piece of another Arena is in this one, which copies it unless it has
// taken the other.
func (a *Arena) Bring(o *Arena, p Place) Place {
	if a.taken != o {
		return a.Put(o.At(p))
	}
	p.block += a.first
	return p
}

// Reset drops all pieces and keeps the blocks.
func (a *Arena) Reset() {
	for i := range a.blocks {
		a.blocks[i] = a.blocks[i][:0]
	}
	a.filling = 0
}

// Bytes returns how many bytes are held.
func (a *Arena) Bytes() (n int) {
	for _, b := range a.blocks {
		n += cap(b)
	}
	return n + 24*cap(a.blocks)
}
