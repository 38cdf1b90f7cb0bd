package flow

import (
	"cmp"
	"slices"

	"weir/window"
)

// An outbox keeps changes in the order of a flush: taken, in flight, durable,
// committed. Positions may be committed only when everything before them is
// durable. What failed, or whose outcome is unknown, stays, and is merged with what
// comes since: to send a thing twice means the same as to send it once.
type outbox struct {
	changes     *window.Changes   // taken and not durable; nil: none
	flight      bool              // they were sent, and have no answer yet
	uncommitted []window.Position // durable, by partition
	spare       *window.Table     // of what is durable: free for reuse
}

// add takes changes in, which are the outbox's from then on. Nothing is in flight.
func (o *outbox) add(c *window.Changes) {
	if o.changes == nil {
		o.changes = c
		return
	}
	o.changes.Join(c)
}

// owes reports whether there is something to send, and nothing in flight.
func (o *outbox) owes() bool { return !o.flight && o.changes != nil && !o.changes.Empty() }

// begin hands out what is owed, sealed, and marks it in flight; nil if nothing is.
func (o *outbox) begin() *window.Changes {
	if !o.owes() {
		return nil
	}
	o.flight = true
	o.changes.Table.Seal()
	return o.changes
}

// acknowledge says that all of what is in flight is durable. Its positions may
// be committed, and its table be used again.
func (o *outbox) acknowledge() {
	o.reach(o.changes.Next)
	o.spare = o.changes.Table
	o.changes, o.flight = nil, false
}

// fail says that what is in flight may or may not be durable, in part or in
// whole. It is owed again.
func (o *outbox) fail() { o.flight = false }

// reach notes positions that may be committed.
func (o *outbox) reach(ps []window.Position) {
	for _, p := range ps {
		i, found := slices.BinarySearchFunc(o.uncommitted, p, func(a, b window.Position) int { return cmp.Compare(a.Partition, b.Partition) })
		if found {
			o.uncommitted[i].Offset = max(o.uncommitted[i].Offset, p.Offset)
		} else {
			o.uncommitted = slices.Insert(o.uncommitted, i, p)
		}
	}
}

// committable is a copy of the positions that may be committed, by ascending
// partition; nil if there are none.
func (o *outbox) committable() []window.Position {
	if len(o.uncommitted) == 0 {
		return nil
	}
	return slices.Clone(o.uncommitted)
}

// committed says that positions are committed. Those that have moved on since
// committable returned them stay.
func (o *outbox) committed(ps []window.Position) {
	o.uncommitted = slices.DeleteFunc(o.uncommitted, func(p window.Position) bool { return slices.Contains(ps, p) })
}

// reuse hands out, once, the table of what has become durable last; nil if it
// has been handed out.
func (o *outbox) reuse() *window.Table {
	t := o.spare
	o.spare = nil
	return t
}

// empty reports whether everything is durable.
func (o *outbox) empty() bool { return o.changes == nil || o.changes.Empty() }

// bytes is about what the changes hold in memory.
func (o *outbox) bytes() int64 {
	if o.changes == nil {
		return 0
	}
	return int64(o.changes.Bytes())
}
