package sim

import "errors"

// A network carries inserts to the sink, and answers back. It decides what
// happens to an insert when it is sent.
type network struct {
	s    *schedule
	sent []*insert
}

var (
	errRefused = errors.New("refused")
	errLost    = errors.New("answer lost")
)

// send draws what happens to an insert.
func (n *network) send(i *insert) {
	s := n.s
	r, m := s.faults, &s.mix
	i.keep = 1
	i.land = s.step + r.IntN(2)
	i.answer = i.land + r.IntN(3)
	switch {
	case s.sink.down:
		m.count[Down]++
		i.land, i.err = never, errRefused
	case m.strikes(r, Refuse, 4):
		i.land, i.err = never, errRefused
	case m.strikes(r, LoseAnswer, 4):
		i.err = errLost
	case m.strikes(r, Partial, 4):
		i.keep, i.err = r.Float64(), errLost
	case m.strikes(r, LandLate, 3):
		i.answer, i.err = s.step+3, errTimeout
		i.land = s.step + 4 + r.IntN(1+r.IntN(300))
	case m.strikes(r, Slow, 2):
		i.land = s.step + r.IntN(30)
		i.answer = i.land + r.IntN(10)
	}
	n.sent = append(n.sent, i)
}

// never is a step that is never reached.
const never = 1 << 30

// tick applies and answers the inserts that are due, in the order in which they
// were sent.
func (n *network) tick() {
	kept := n.sent[:0]
	for k := 0; k < len(n.sent); k++ { // an answer may append
		i := n.sent[k]
		if i.land <= n.s.step {
			i.land = never
			n.s.sink.apply(i)
		}
		if i.answer <= n.s.step && !(i.run != nil && i.run.m.paused) {
			i.answer = never
			if i.run != nil {
				i.run.answered(i.err)
			}
		}
		if i.land != never || i.answer != never {
			kept = append(kept, i)
		}
	}
	clear(n.sent[len(kept):])
	n.sent = kept
}

// orphan drops the answers for a process that is gone. The insert that it was
// sending may arrive whole, in part, or not at all.
func (n *network) orphan(of *run) {
	if of == nil {
		return
	}
	for _, i := range n.sent {
		if i.run != of {
			continue
		}
		i.run, i.answer = nil, never
		if i.land != never {
			switch n.s.faults.IntN(3) {
			case 0:
				i.land = never
			case 1:
				i.keep = n.s.faults.Float64()
			}
		}
	}
}

// skip lets time pass until the next arrival, if all processes only wait for
// that.
func (n *network) skip() {
	next := never
	for _, i := range n.sent {
		next = min(next, i.land, i.answer)
	}
	n.s.step = max(n.s.step, next-1)
}
