package window

// An Outbox keeps the order of a flush: what was taken waits, what is in
// flight is one thing at a time, and positions are handed out only when
// everything before them is durable. What failed, or whose outcome is
// unknown, is joined into what comes next, because sending a thing twice
// means the same as sending it once.
type Outbox struct {
	owed   *Changes // taken, not yet in flight
	flight *Changes // sent, not yet answered
}

// Add takes changes in.
func (o *Outbox) Add(c *Changes) {
	if o.owed == nil {
		o.owed = c
		return
	}
	o.owed.Join(c)
}

// Begin hands out what is owed, sealed, and marks it in flight. It returns nil
// if something is in flight already or nothing is owed.
func (o *Outbox) Begin() *Changes {
	if o.flight != nil || o.owed == nil || o.owed.Empty() {
		return nil
	}
	o.flight, o.owed = o.owed, nil
	o.flight.Table.Seal()
	return o.flight
}

// InFlight is what Begin handed out and nobody has answered for; nil if none.
func (o *Outbox) InFlight() *Changes { return o.flight }

// Acknowledge says that all of what was in flight is durable. It returns the
// positions that may now be committed, and the table for reuse.
func (o *Outbox) Acknowledge() ([]Position, *Table) {
	c := o.flight
	o.flight = nil
	return c.Next, c.Table
}

// Fail says that what was in flight may or may not be durable, in part or in
// whole. It is owed again.
func (o *Outbox) Fail() {
	c := o.flight
	o.flight = nil
	if o.owed != nil {
		c.Join(o.owed)
	}
	o.owed = c
}

// Tables yields those of what waits, to read.
func (o *Outbox) Tables(yield func(*Table) bool) {
	for _, c := range []*Changes{o.owed, o.flight} {
		if c != nil && !yield(c.Table) {
			return
		}
	}
}

// Empty reports whether nothing is owed and nothing is in flight.
func (o *Outbox) Empty() bool { return o.flight == nil && (o.owed == nil || o.owed.Empty()) }

// Bytes is about what waits in memory.
func (o *Outbox) Bytes() int {
	n := 0
	if o.owed != nil {
		n += o.owed.Bytes()
	}
	if o.flight != nil {
		n += o.flight.Bytes()
	}
	return n
}
