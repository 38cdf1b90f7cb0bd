package ingest

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/segmentio/kafka-go/protocol"
	"golang.org/x/sync/errgroup"

	"weir/event"
	"weir/internal/backoff"
)

// A partition is the reader's position in one partition's log. At any time
// exactly one goroutine has it: the loop of the broker that leads it, or the
// dispatcher while the leader is not known. That is why Parts of a partition
// cannot overtake one another.
type partition struct {
	id    int32
	next  int64 // the offset to request next
	epoch int32 // of the leader that is asked

	// replica is the broker that is read instead of the leader, because the leader has
	// named it (KIP-392); -1: the leader is read. While a replica is read, until is the
	// time to ask the leader again. While the leader is read, the requests do not name
	// the rack before until, because a replica has failed, and the leader would name it
	// again.
	replica int32
	until   time.Time

	damaged   int64 // offset of a batch that failed its checksum and is fetched again; -1: none
	outside   bool  // the broker says that next is not in the log
	pause     backoff.Backoff[time.Duration]
	notBefore time.Time // after a failed try
	bounds    [3]int64  // high water, last stable, log start of the last Part
}

// A dispatcher carries out one call of Generation.Fetch, with one loop per broker.
type dispatcher struct {
	source     *Source
	generation *Generation
	deliver    func(event.Part) error
	group      *errgroup.Group
	lost       chan *partition // from the loops to the dispatcher
	loops      map[int32]*loop // by broker id; used by run only
	brokerOf   map[int32]int32 // by partition, the broker that read it last; used by run only
}

// Fetch reads from the given offsets until ctx or the Generation ends, and
// passes every Part to deliver. A Part without a batch only tells where the log
// begins and ends.
//
// deliver owns the Part, also if it fails; its error ends Fetch. It may block: a
// full queue slows fetching down, since each of a broker's two buffers is reused
// only when all its Parts are Done. Fetch calls deliver from one goroutine per
// broker. While deliver blocks, it should watch ctx.
//
// Fetch retries after temporary errors, and logs them once. It returns nil if the
// group takes the partitions away, which Done reports, ctx's error, an error that the
// caller must decide about (*RangeError, *RecreatedError, *BatchError), or an
// error that a person must remedy. Parts already delivered stay valid.
func (g *Generation) Fetch(ctx context.Context, from map[int32]int64, deliver func(event.Part) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := make(chan struct{})
	defer close(stop)
	go func() {
		select {
		case <-g.ended:
			cancel(g.Err())
		case <-stop:
		}
	}()
	d := &dispatcher{
		source:     g.source,
		generation: g,
		deliver:    deliver,
		lost:       make(chan *partition, len(from)), // room for all: a send never blocks
		loops:      make(map[int32]*loop),
		brokerOf:   make(map[int32]int32),
	}
	for id, offset := range from {
		if !g.owns(id) {
			return fmt.Errorf("ingest: fetch of partition %d, which this member does not have", id)
		}
		if offset < 0 {
			return fmt.Errorf("ingest: fetch of partition %d from offset %d", id, offset)
		}
		d.lost <- &partition{id: id, next: offset, replica: -1, damaged: -1, pause: pauses(), bounds: [3]int64{-1, -1, -1}}
	}
	var inner context.Context
	d.group, inner = errgroup.WithContext(ctx)
	d.group.Go(func() error { return d.run(inner) })
	err := d.group.Wait()
	for _, l := range d.loops {
		g.source.notices.gone(l.subject)
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	if errors.Is(err, ErrEnded) {
		return nil
	}
	return err
}

// run receives partitions that no loop reads, waits for the end of their backoff,
// looks up their leaders, and gives each to the loop of its leader.
func (d *dispatcher) run(ctx context.Context) error {
	const subject = "finding the partitions' leaders"
	defer d.source.notices.gone(subject)
	var unassigned []*partition
	for {
		wait := time.Duration(-1)
		now := time.Now()
		due := false
		for _, p := range unassigned {
			switch left := p.notBefore.Sub(now); {
			case left <= 0:
				due = true
			case wait < 0 || left < wait:
				wait = left
			}
		}
		if !due {
			p, err := d.next(ctx, wait)
			if err != nil {
				return err
			}
			if p != nil {
				unassigned = append(unassigned, p)
			}
			continue
		}
		for more := true; more; { // and all others that are waiting in the channel
			select {
			case p := <-d.lost:
				unassigned = append(unassigned, p)
			default:
				more = false
			}
		}
		t, err := d.leaders(ctx)
		if err == nil {
			unassigned, err = d.assign(ctx, t, unassigned, now)
		}
		switch {
		case err == nil:
			d.source.notices.worked(subject)
		case ctx.Err() != nil:
			return ctx.Err()
		case d.source.judge(err) == retry:
			d.source.notices.failed(subject, err)
		default:
			return err
		}
		for _, p := range unassigned { // their backoff is not over
			if !p.notBefore.After(now) {
				p.later()
			}
		}
	}
}

// next waits for a partition, at most wait (for ever if negative).
func (d *dispatcher) next(ctx context.Context, wait time.Duration) (*partition, error) {
	var timeout <-chan time.Time
	if wait >= 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case p := <-d.lost:
		return p, nil
	case <-timeout:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// leaders looks up the leader of each partition. It ends the Generation if the
// topic was recreated.
func (d *dispatcher) leaders(ctx context.Context) (*topic, error) {
	t, err := d.source.metadata(ctx)
	if err != nil {
		if d.source.judge(err) == fatal {
			err = d.source.config.explain(err)
		}
		return nil, err
	}
	if event.OtherTopic(t.id, d.generation.topicID) {
		err := &RecreatedError{Topic: d.source.config.Topic, Was: d.generation.topicID, Is: t.id}
		d.generation.end(err)
		return nil, err
	}
	return t, nil
}

// assign gives partitions whose backoff is over to the loops of the brokers to
// read them from, and returns the others.
func (d *dispatcher) assign(ctx context.Context, t *topic, unassigned []*partition, now time.Time) (left []*partition, err error) {
	lacks := &MissingError{topic: d.source.config.Topic, why: make(map[int32]error)}
	for _, p := range unassigned {
		if p.notBefore.After(now) {
			left = append(left, p)
			continue
		}
		l, ok := t.of(p.id)
		if !ok || l.leader < 0 {
			lacks.why[p.id] = errNoLeader
			err = lacks
			left = append(left, p)
			continue
		}
		if p.outside {
			if e := d.locate(ctx, t, p); e != nil {
				if d.source.judge(e) != retry {
					return nil, e
				}
				err = e
				left = append(left, p)
				continue
			}
		}
		p.epoch = l.epoch
		if p.replica == l.leader { // since the last election
			p.readLeader()
		}
		broker := l.leader
		if p.replica >= 0 {
			broker = p.replica
		}
		version, e := d.version(ctx, broker)
		if e != nil {
			if d.source.judge(e) != retry {
				return nil, d.source.config.explain(e)
			}
			d.leaveReplica(p)
			err = e
			left = append(left, p)
			continue
		}
		d.brokerOf[p.id] = broker
		reader := d.loop(ctx, broker)
		reader.version.Store(version)
		reader.arrivals <- p
	}
	used := slices.Collect(maps.Values(d.brokerOf))
	for broker, l := range d.loops {
		if !slices.Contains(used, broker) {
			d.source.notices.gone(l.subject) // no partition is read from this broker any more
		}
	}
	return left, err
}

// version is that of the Fetch requests to a broker.
func (d *dispatcher) version(ctx context.Context, broker int32) (int32, error) {
	known, err := d.source.conns.dialect(ctx, broker)
	if err != nil {
		return 0, err
	}
	v, err := known.of(protocol.Fetch)
	if d.generation.topicID == [16]byte{} {
		v = min(v, fetchByID-1)
	}
	return int32(v), err
}

// locate finds out whether an offset that is out of range lies before or after
// the log, which the broker's response does not say. If the offset is inside
// (the response came from a leader that lagged, or from a follower whose log
// begins later), reading continues.
func (d *dispatcher) locate(ctx context.Context, t *topic, p *partition) error {
	var at [2]int64
	for i, e := range []edge{logStart, logEnd} {
		missing := make(map[int32]error)
		found, err := d.source.offsets(ctx, t, []int32{p.id}, e, missing)
		if err := cmp.Or(err, missing[p.id]); err != nil {
			return fmt.Errorf("partition %d: %w", p.id, err)
		}
		at[i] = found[p.id]
	}
	start, end := at[0], at[1]
	if p.next < start || p.next > end {
		return &RangeError{Partition: p.id, Offset: p.next, LogStart: start, LogEnd: end}
	}
	p.outside = false
	return nil
}

// loop returns the loop of a broker, and starts it if there is none.
func (d *dispatcher) loop(ctx context.Context, broker int32) *loop {
	l := d.loops[broker]
	if l == nil {
		l = &loop{
			dispatcher:     d,
			broker:         broker,
			subject:        fmt.Sprintf("fetching from broker %d", broker),
			arrivals:       make(chan *partition, cap(d.lost)),
			free:           make(chan *buffer, buffers),
			landed:         make(chan flight, 1),
			partitionBytes: d.source.config.PartitionBytes,
		}
		for range buffers {
			l.free <- &buffer{call: l.newCall(), free: l.free, scrub: scrubBuffers}
		}
		d.loops[broker] = l
		d.group.Go(func() error { return l.run(ctx) })
	}
	return l
}

// later sets the partition's backoff, which grows with each failed try.
func (p *partition) later() {
	p.notBefore = time.Now().Add(jitter(p.pause.Next()))
}

// readLeader sends a partition to its leader, which may name a nearer replica.
func (p *partition) readLeader() { p.replica, p.until = -1, time.Time{} }

// leaveReplica makes a partition be read from its leader for the time of a lease, if it
// was read from another replica.
func (d *dispatcher) leaveReplica(p *partition) {
	if p.replica >= 0 {
		p.replica, p.until = -1, time.Now().Add(d.source.config.Lease)
	}
}
