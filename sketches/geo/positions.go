package geo

// Positions is a searchable set of the last positions of members, a
// join-semilattice like one window of Last: Put and Merge keep the position
// with the greater stamp, so sets built in any order, from any overlapping
// parts, are equal. The zero value is empty and ready.
type Positions struct {
	set    Set
	stamps map[string]Stamp
}

// Put records that member was at score at the time of st, unless a later
// position of it is known, and reports whether it changed anything. The
// member is copied.
func (p *Positions) Put(member []byte, st Stamp, score uint64) bool {
	old, known := p.set.Score(member)
	stamp := p.stamps[string(member)]
	if known && !later(st, score, stamp, uint64(old)) {
		return false
	}
	p.set.Put(member, float64(score))
	if p.stamps == nil {
		p.stamps = make(map[string]Stamp)
	}
	p.stamps[string(member)] = st
	return true
}

// PutLast puts the positions of one window of l.
func (p *Positions) PutLast(l *Last, window int64) {
	for i := range l.entries {
		if e := &l.entries[i]; e.window == window {
			p.Put(l.member(e), e.stamp, e.score)
		}
	}
}

// Merge puts every position of o.
func (p *Positions) Merge(o *Positions) {
	if p == o {
		return
	}
	for _, b := range o.set.blocks {
		for _, e := range b {
			p.Put([]byte(e.member), o.stamps[e.member], uint64(e.score))
		}
	}
}

// Get returns the last position of a member.
func (p *Positions) Get(member []byte) (st Stamp, score uint64, ok bool) {
	s, ok := p.set.Score(member)
	return p.stamps[string(member)], uint64(s), ok
}

// Set is the positions as a sorted set, to search and to range over. It is
// p's own: it follows later Puts and must not be changed.
func (p *Positions) Set() *Set { return &p.set }

// Len is the number of members.
func (p *Positions) Len() int { return p.set.Len() }

// Bytes estimates the memory held.
func (p *Positions) Bytes() int {
	const hashEntry = 16 + 24 + 1 // key, value, control byte
	return p.set.Bytes() + len(p.stamps)*hashEntry*8/7
}
