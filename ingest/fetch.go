package ingest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"
	"golang.org/x/sync/errgroup"

	"weir/event"
)

// A partition is a reader's place in one partition's log. It travels: at any
// time one goroutine has it, a broker's loop while it is read there, or the
// dispatcher while it is not known who leads it. That is why Parts of a
// partition cannot overtake one another.
type partition struct {
	id    int32
	next  int64 // the offset to ask for
	epoch int32 // of the leader we ask

	damaged   int64 // offset where a batch failed its checksum and is being fetched again; -1
	outside   bool  // the broker says next is not in the log
	attempts  int   // since it last worked
	notBefore time.Time
	told      [3]int64 // high water, last stable, log start of the last Part
}

// A fetch is one call of Generation.Fetch: the dispatcher, in run, and one
// loop per broker.
type fetch struct {
	source     *Source
	generation *Generation
	deliver    func(event.Part) error
	group      *errgroup.Group
	lost       chan *partition // from the loops to the dispatcher
	loops      map[int32]*loop // by broker id; the dispatcher's
	homes      map[int32]int32 // by partition, the broker it was last given to; the dispatcher's
}

// Fetch reads on from the given offsets until ctx or the Generation ends,
// handing every Part to deliver. A Part without a batch is news of the log's
// ends.
//
// deliver takes over the Part, also when it fails; an error of its own ends
// Fetch. It may block: that is how a full queue slows fetching down, since
// each broker's two buffers are reused only when all their Parts are Done.
// Partitions of different brokers are delivered from different goroutines,
// those of one broker one after the other. Between its own, deliver should
// watch ctx.
//
// Trouble that may pass is retried and logged once. Fetch returns ctx's error,
// ErrEnded when the group takes the partitions away, or what it cannot decide:
// *RangeError, *RecreatedError, *BatchError, or an error that a person must mend.
// Parts already delivered stay valid.
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
	f := &fetch{
		source:     g.source,
		generation: g,
		deliver:    deliver,
		lost:       make(chan *partition, len(from)), // each is in one place at a time
		loops:      make(map[int32]*loop),
		homes:      make(map[int32]int32),
	}
	for id, offset := range from {
		if !g.owns(id) {
			return fmt.Errorf("ingest: fetch of partition %d, which is not ours", id)
		}
		if offset < 0 {
			return fmt.Errorf("ingest: fetch of partition %d from offset %d", id, offset)
		}
		f.lost <- &partition{id: id, next: offset, damaged: -1, told: [3]int64{-1, -1, -1}}
	}
	var inner context.Context
	f.group, inner = errgroup.WithContext(ctx)
	f.group.Go(func() error { return f.run(inner) })
	err := f.group.Wait()
	for _, l := range f.loops {
		g.source.notices.gone(l.subject)
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return err
}

// run is the dispatcher: it takes in partitions nobody reads, waits out their
// backoff, looks up who leads them, and gives them to that broker's loop.
func (f *fetch) run(ctx context.Context) error {
	const subject = "finding the partitions' leaders"
	defer f.source.notices.gone(subject)
	var homeless []*partition
	for {
		wait := time.Duration(-1)
		now := time.Now()
		due := false
		for _, p := range homeless {
			switch left := p.notBefore.Sub(now); {
			case left <= 0:
				due = true
			case wait < 0 || left < wait:
				wait = left
			}
		}
		if !due {
			p, err := f.next(ctx, wait)
			if err != nil {
				return err
			}
			if p != nil {
				homeless = append(homeless, p)
			}
			continue
		}
		for more := true; more; { // whoever else has come meanwhile
			select {
			case p := <-f.lost:
				homeless = append(homeless, p)
			default:
				more = false
			}
		}
		t, err := f.leaders(ctx)
		if err == nil {
			homeless, err = f.house(ctx, t, homeless, now)
		}
		switch {
		case err == nil:
			f.source.notices.fine(subject)
		case ctx.Err() != nil:
			return ctx.Err()
		case f.source.judge(err) == retry:
			f.source.notices.trouble(subject, err)
		default:
			return err
		}
		for _, p := range homeless { // still
			if !p.notBefore.After(now) {
				p.later()
			}
		}
	}
}

// next waits for a partition to come in, at most wait (for ever when negative).
func (f *fetch) next(ctx context.Context, wait time.Duration) (*partition, error) {
	var timeout <-chan time.Time
	if wait >= 0 {
		t := time.NewTimer(wait)
		defer t.Stop()
		timeout = t.C
	}
	select {
	case p := <-f.lost:
		return p, nil
	case <-timeout:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// leaders asks who leads what, and ends the Generation if the topic is not
// the one it began with.
func (f *fetch) leaders(ctx context.Context) (*topic, error) {
	t, err := f.source.metadata(ctx)
	if err != nil {
		if f.source.judge(err) == fatal {
			err = f.source.config.explain(err)
		}
		return nil, err
	}
	if t.id != f.generation.topicID {
		err := &RecreatedError{Topic: f.source.config.Topic, Was: f.generation.topicID, Is: t.id}
		f.generation.end(err)
		return nil, err
	}
	return t, nil
}

// house gives partitions whose time has come to their leaders' loops, and
// returns the others.
func (f *fetch) house(ctx context.Context, t *topic, homeless []*partition, now time.Time) (left []*partition, err error) {
	for _, p := range homeless {
		if p.notBefore.After(now) {
			left = append(left, p)
			continue
		}
		l, ok := t.of(p.id)
		if !ok || l.leader < 0 {
			err = fmt.Errorf("partition %d: %w", p.id, errNoLeader)
			left = append(left, p)
			continue
		}
		if p.outside {
			if e := f.locate(ctx, t, p); e != nil {
				if f.source.judge(e) != retry {
					return nil, e
				}
				err = e
				left = append(left, p)
				continue
			}
		}
		p.epoch = l.epoch
		f.homes[p.id] = l.leader
		f.loop(ctx, l.leader).arrivals <- p
	}
	lead := slices.Collect(maps.Values(f.homes))
	for broker, l := range f.loops {
		if !slices.Contains(lead, broker) {
			f.source.notices.gone(l.subject) // nothing is fetched there any more: others lead
		}
	}
	return left, err
}

// locate finds out what a broker meant by out of range, which its answer does
// not say. A partition that turns out to be inside (the answer came from a
// leader that had fallen behind) is read on.
func (f *fetch) locate(ctx context.Context, t *topic, p *partition) error {
	starts, err := f.source.offsets(ctx, t, []int32{p.id}, earliest, readUncommitted)
	if err != nil {
		return err
	}
	ends, err := f.source.offsets(ctx, t, []int32{p.id}, latest, readUncommitted)
	if err != nil {
		return err
	}
	start, end := starts[p.id], ends[p.id]
	if p.next < start || p.next > end {
		return &RangeError{Partition: p.id, Offset: p.next, LogStart: start, LogEnd: end}
	}
	p.outside = false
	return nil
}

// loop is the loop of a broker, started if need be.
func (f *fetch) loop(ctx context.Context, broker int32) *loop {
	l := f.loops[broker]
	if l == nil {
		l = &loop{
			fetch:    f,
			broker:   broker,
			subject:  fmt.Sprintf("fetching from broker %d", broker),
			arrivals: make(chan *partition, cap(f.lost)),
			free:     make(chan *buffer, buffers),
			landed:   make(chan flight, 1),
		}
		for range buffers {
			l.free <- &buffer{call: l.newCall(), free: l.free, scrub: scrubBuffers}
		}
		f.loops[broker] = l
		f.group.Go(func() error { return l.run(ctx) })
	}
	return l
}

// later makes a partition wait, longer each time.
func (p *partition) later() {
	p.notBefore = time.Now().Add(backoff(p.attempts))
	p.attempts++
}

// Two buffers per broker: while one is worked on, the other is in flight.
const buffers = 2

// scrubBuffers makes the tests see who looks at a buffer after Done.
var scrubBuffers = false

// A loop reads from one broker: all its partitions in each request.
type loop struct {
	fetch      *fetch
	broker     int32
	subject    string          // in the log
	arrivals   chan *partition // room for every partition there is
	partitions []*partition    // here now, in the order of the next request
	free       chan *buffer
	flying     bool
	landed     chan flight
	asked      []*partition  // in the request in flight
	pause      time.Duration // the broker wants to be left alone
}

// A flight is a request that has come back.
type flight struct {
	buffer *buffer
	err    error
}

// run is the loop. The request after next goes out before the response at
// hand is delivered: where it has to begin is known from the batches' heads.
func (l *loop) run(ctx context.Context) error {
	for {
		if !l.flying {
			if err := l.gather(ctx); err != nil {
				return err
			}
			select {
			case b := <-l.free:
				l.send(ctx, b)
			case <-ctx.Done():
				return ctx.Err()
			}
		}
		var f flight
		select {
		case f = <-l.landed:
			l.flying = false
		case <-ctx.Done():
			return ctx.Err()
		}
		parts, lost, err := l.read(f)
		if err != nil {
			return err
		}
		for _, p := range lost { // its Parts came with earlier responses and are delivered
			l.fetch.lost <- p
		}
		l.arrive()
		if len(l.partitions) > 0 && l.pause == 0 {
			select {
			case b := <-l.free:
				l.send(ctx, b)
			default: // both are being worked on: that is the back-pressure
			}
		}
		for _, p := range parts {
			if err := l.fetch.deliver(p); err != nil {
				return err
			}
		}
		f.buffer.drop(l.fetch.source.keptBuffer())
		if l.pause > 0 {
			if !sleep(ctx, l.pause) {
				return ctx.Err()
			}
			l.pause = 0
		}
	}
}

// gather waits until there is something to ask this broker for.
func (l *loop) gather(ctx context.Context) error {
	l.arrive()
	if len(l.partitions) > 0 {
		return nil
	}
	select {
	case p := <-l.arrivals:
		l.partitions = append(l.partitions, p)
		l.arrive()
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// arrive takes in whoever the dispatcher has sent.
func (l *loop) arrive() {
	for {
		select {
		case p := <-l.arrivals:
			l.partitions = append(l.partitions, p)
		default:
			return
		}
	}
}

// send puts a request for all partitions into flight. Brokers fill a response
// in the request's order until its limit; only the first batch of all may
// exceed it, and a later one that does not fit is left out. So the order
// changes each time, and a large batch gets its turn.
func (l *loop) send(ctx context.Context, b *buffer) {
	ps := l.partitions
	first := ps[0]
	copy(ps, ps[1:])
	ps[len(ps)-1] = first
	l.asked = append(l.asked[:0], ps...)
	source := l.fetch.source
	b.holders.Store(1)
	b.call.request = appendFetch(b.call.request, &source.config, l.fetch.generation.topicID, l.asked)
	l.flying = true
	go func() {
		err := source.exchange(ctx, b.call, source.config.MaxWait+fetchTimeout)
		l.landed <- flight{buffer: b, err: err} // has room; nobody listens after the end
	}()
}

// read takes a response apart: what to deliver, and which partitions are no
// longer this broker's. The others have moved on.
func (l *loop) read(f flight) (parts []event.Part, lost []*partition, err error) {
	source := l.fetch.source
	response := &f.buffer.response
	if f.err == nil {
		f.err = response.parse(f.buffer.call.response)
	}
	if f.err == nil && response.code != 0 {
		f.err = response.code
	}
	if f.err != nil {
		if source.judge(f.err) == fatal {
			return nil, nil, source.config.explain(f.err)
		}
		source.notices.trouble(l.subject, f.err)
		f.buffer.call = l.newCall() // the exchange may not have let go of this one
		for _, p := range l.asked {
			lost = append(lost, l.lose(p))
		}
		return nil, lost, nil
	}
	l.pause = time.Duration(response.throttle) * time.Millisecond
	for i := range response.partitions {
		r := &response.partitions[i]
		p, first := l.answered(r.partition)
		if p == nil {
			continue
		}
		switch r.code {
		case 0:
			part, some, err := l.accept(p, r, first, f.buffer)
			if some {
				parts = append(parts, part)
			}
			if err != nil {
				return nil, nil, err
			}
		case kafka.OffsetOutOfRange:
			p.outside = true
			lost = append(lost, l.lose(p))
		case kafka.InvalidMessage: // the broker found the damage itself
			if err := l.doubt(p, corrupt("the broker says so: %v", r.code)); err != nil {
				return nil, nil, err
			}
			lost = append(lost, l.lose(p))
		default:
			err := fmt.Errorf("partition %d: %w", p.id, r.code)
			if source.judge(err) == fatal {
				return nil, nil, source.config.explain(err)
			}
			source.notices.trouble(l.subject, err)
			lost = append(lost, l.lose(p))
		}
	}
	if len(lost) == 0 {
		source.notices.fine(l.subject)
	}
	return parts, lost, nil
}

// accept verifies a partition's records and moves it on. There is a Part if
// there are records, or news of the log.
func (l *loop) accept(p *partition, r *fetched, first bool, b *buffer) (part event.Part, some bool, err error) {
	p.attempts = 0
	whole, next, damage := verify(r.records, p.next)
	switch {
	case damage == nil && whole == 0 && len(r.records) > 0 && first:
		// Cut off, as a tail is, but the request's first batch comes whole.
		damage = corrupt("a batch whose end does not come, after %d bytes", len(r.records))
	case damage == nil && whole > 0 && next == p.next:
		damage, whole = corrupt("only batches before the offset asked for"), 0
	}
	known := [3]int64{r.highWater, r.lastStable, r.logStart}
	if whole > 0 || known != p.told {
		p.told = known
		part, some = l.fetch.source.part(packed{
			partition: p.id,
			from:      p.next,
			to:        next,
			set:       r.records[:whole],
			aborted:   r.aborted,
		}, r, b), true
		p.next = next
	}
	if damage != nil {
		err = l.doubt(p, damage)
	}
	return part, some, err
}

// doubt notes damage at p.next. Once it may have happened on the way: the
// batch is asked for again. Twice it is what the log holds.
func (l *loop) doubt(p *partition, damage error) error {
	if p.damaged == p.next {
		return &BatchError{Partition: p.id, Offset: p.next, Reason: damage}
	}
	p.damaged = p.next
	l.fetch.source.notices.log.Warn("kafka: a record batch arrived damaged and is fetched again",
		"partition", p.id, "offset", p.next, "error", damage)
	return nil
}

// answered finds a partition of the request, once, and whether it was its first.
func (l *loop) answered(id int32) (p *partition, first bool) {
	for i, p := range l.asked {
		if p != nil && p.id == id {
			l.asked[i] = nil
			return p, i == 0
		}
	}
	return nil, false
}

func (l *loop) newCall() *call {
	return &call{api: protocol.Fetch, broker: l.broker, limit: l.fetch.source.config.ResponseLimit}
}

// lose takes a partition out of this loop.
func (l *loop) lose(p *partition) *partition {
	for i, q := range l.partitions {
		if p == q {
			l.partitions = append(l.partitions[:i], l.partitions[i+1:]...)
			break
		}
	}
	p.later()
	return p
}
