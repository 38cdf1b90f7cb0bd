package flow

import (
	"cmp"
	"slices"

	"weir/window"
)

// An outbox keeps changes through the steps of a flush: taken, inserted, in flight, durable,
// committed. Positions may be committed only when everything before them is
// durable. Rows that were inserted stay until a write has made them durable. Changes whose write failed, or whose result is unknown, stay in the
// outbox and merge with later ones: a merge is idempotent, so it does no harm to
// send them twice.
type outbox struct {
	changes     *window.Changes   // taken and not durable; nil: none
	flight      bool              // changes were sent, and no answer has come yet
	sent        int64             // bytes of the changes when they were sent
	uncommitted []window.Position // durable, by partition
	spare       []*window.Table   // of changes that are durable, or have gone into others: free for reuse
}

// add takes over changes. No write may be in flight.
func (o *outbox) add(c *window.Changes) {
	if o.changes != nil && o.changes.Table.Len() > 0 {
		o.changes.Merge(c)
		return
	}
	if o.changes != nil { // its rows were inserted
		c.Merge(o.changes)
		o.spare = append(o.spare, o.changes.Table)
	}
	o.changes = c
}

// sendable reports whether there is something to send, and nothing in flight.
func (o *outbox) sendable() bool { return !o.flight && o.changes != nil && !o.changes.Empty() }

// insert returns the changes whose rows to insert, as begin does.
func (o *outbox) insert() *window.Changes {
	if o.changes == nil || o.changes.Table.Len() == 0 {
		return nil
	}
	return o.begin()
}

// begin returns the changes to write, sealed, and marks them in flight; nil if
// there are none.
func (o *outbox) begin() *window.Changes {
	if !o.sendable() {
		return nil
	}
	o.flight = true
	for _, t := range o.changes.Tables() {
		t.Seal()
	}
	o.sent = int64(o.changes.Bytes())
	return o.changes
}

// inserted notes that the sink has the rows in flight, and in which round. Nothing else of the changes
// is there, so they wait for a write.
func (o *outbox) inserted(round uint64) {
	o.changes.Inserted(round)
	o.sent, o.flight = 0, false
}

// acknowledge notes that the changes in flight are durable. Their positions may be
// committed, and their tables be reused.
func (o *outbox) acknowledge() {
	o.reach(o.changes.Next)
	o.spare = append(o.spare, o.changes.Tables()...)
	o.changes, o.flight = nil, false
}

// fail notes that any part of the changes in flight may be durable or not. They
// are to be written again.
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

// committable returns a copy of the positions that may be committed, by ascending
// partition; nil if there are none.
func (o *outbox) committable() []window.Position {
	if len(o.uncommitted) == 0 {
		return nil
	}
	return slices.Clone(o.uncommitted)
}

// committed removes positions that are committed, except those that have moved on
// since committable returned them.
func (o *outbox) committed(ps []window.Position) {
	o.uncommitted = slices.DeleteFunc(o.uncommitted, func(p window.Position) bool { return slices.Contains(ps, p) })
}

// reuse returns the tables that no reader uses any more, once.
func (o *outbox) reuse() []*window.Table {
	t := o.spare
	o.spare = nil
	return t
}

// empty reports whether everything is durable.
func (o *outbox) empty() bool { return o.changes == nil || o.changes.Empty() }

// bytes is about the memory of the changes. While they are in flight it is what it
// was before: the sink encodes them in buffers of the table, in another goroutine.
func (o *outbox) bytes() int64 {
	switch {
	case o.changes == nil:
		return 0
	case o.flight:
		return o.sent
	}
	return int64(o.changes.Bytes())
}
