package ingest

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
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

// A fetch is one call of Generation.Fetch: the dispatcher, which is run, and one
// loop per broker.
type fetch struct {
	source     *Source
	generation *Generation
	deliver    func(event.Part) error
	group      *errgroup.Group
	lost       chan *partition // from the loops to the dispatcher
	loops      map[int32]*loop // by broker id; the dispatcher's
	brokerOf   map[int32]int32 // by partition, the broker that read it last; used by the dispatcher only
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
// Fetch retries after temporary errors, and logs them once. It returns ctx's
// error, ErrEnded if the group takes the partitions away, an error that the
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
	f := &fetch{
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
		f.lost <- &partition{id: id, next: offset, replica: -1, damaged: -1, pause: pauses(), bounds: [3]int64{-1, -1, -1}}
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

// run is the dispatcher: it receives partitions that no loop reads, waits for
// the end of their backoff, looks up their leaders, and gives each to the loop
// of its leader.
func (f *fetch) run(ctx context.Context) error {
	const subject = "finding the partitions' leaders"
	defer f.source.notices.gone(subject)
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
			p, err := f.next(ctx, wait)
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
			case p := <-f.lost:
				unassigned = append(unassigned, p)
			default:
				more = false
			}
		}
		t, err := f.leaders(ctx)
		if err == nil {
			unassigned, err = f.assign(ctx, t, unassigned, now)
		}
		switch {
		case err == nil:
			f.source.notices.worked(subject)
		case ctx.Err() != nil:
			return ctx.Err()
		case f.source.judge(err) == retry:
			f.source.notices.failed(subject, err)
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

// leaders looks up the leader of each partition. It ends the Generation if the
// topic was recreated.
func (f *fetch) leaders(ctx context.Context) (*topic, error) {
	t, err := f.source.metadata(ctx)
	if err != nil {
		if f.source.judge(err) == fatal {
			err = f.source.config.explain(err)
		}
		return nil, err
	}
	if otherTopic(t.id, f.generation.topicID) {
		err := &RecreatedError{Topic: f.source.config.Topic, Was: f.generation.topicID, Is: t.id}
		f.generation.end(err)
		return nil, err
	}
	return t, nil
}

// assign gives partitions whose backoff is over to the loops of the brokers to
// read them from, and returns the others.
func (f *fetch) assign(ctx context.Context, t *topic, unassigned []*partition, now time.Time) (left []*partition, err error) {
	for _, p := range unassigned {
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
		if p.replica == l.leader { // since the last election
			p.readLeader()
		}
		broker := l.leader
		if p.replica >= 0 {
			broker = p.replica
		}
		version, e := f.version(ctx, broker)
		if e != nil {
			if f.source.judge(e) != retry {
				return nil, f.source.config.explain(e)
			}
			f.leaveReplica(p)
			err = e
			left = append(left, p)
			continue
		}
		f.brokerOf[p.id] = broker
		reader := f.loop(ctx, broker)
		reader.version.Store(version)
		reader.arrivals <- p
	}
	used := slices.Collect(maps.Values(f.brokerOf))
	for broker, l := range f.loops {
		if !slices.Contains(used, broker) {
			f.source.notices.gone(l.subject) // no partition is read from this broker any more
		}
	}
	return left, err
}

// version is that of the Fetch requests to a broker.
func (f *fetch) version(ctx context.Context, broker int32) (int32, error) {
	d, err := f.source.dialect(ctx, broker)
	if err != nil {
		return 0, err
	}
	v, err := d.of(protocol.Fetch)
	if f.generation.topicID == noID {
		v = min(v, fetchByID-1)
	}
	return int32(v), err
}

// locate finds out whether an offset that is out of range lies before or after
// the log, which the broker's response does not say. If the offset is inside
// (the response came from a leader that lagged, or from a follower whose log
// begins later), reading continues.
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

// loop returns the loop of a broker, and starts it if there is none.
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
			share:    f.source.config.PartitionBytes,
		}
		for range buffers {
			l.free <- &buffer{call: l.newCall(), free: l.free, scrub: scrubBuffers}
		}
		f.loops[broker] = l
		f.group.Go(func() error { return l.run(ctx) })
	}
	return l
}

// later sets the partition's backoff, which grows with each failed try.
func (p *partition) later() {
	p.notBefore = time.Now().Add(jitter(p.pause.Next()))
}

// Two buffers per broker: the worker reads one while the response to the next
// request fills the other.
const buffers = 2

// scrubBuffers overwrites a buffer after Done, so that tests find code that
// still reads it.
var scrubBuffers = false

// A loop reads from one broker. Each request names all its partitions.
type loop struct {
	fetch      *fetch
	broker     int32
	subject    string          // its name in the log
	arrivals   chan *partition // room for all partitions
	version    atomic.Int32    // of the requests; the dispatcher sets it before a partition arrives
	partitions []*partition    // those that this loop has, in the order of the next request
	free       chan *buffer
	flying     bool
	landed     chan flight
	asked      []*partition  // those in the request in flight
	leaving    []*partition  // for another broker, after the Parts of this response are delivered
	share      int           // bytes to request of each partition, see resize
	latency    time.Duration // until the first bytes of a response come, about the least of late
	pause      time.Duration // how long the broker throttles this client
}

// A flight is a request whose response has come, or that has failed.
type flight struct {
	buffer *buffer
	err    error
}

// run reads from the broker until ctx ends. It sends the next request before it delivers the present
// response: the batches' headers tell the next offsets.
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
		for _, p := range lost { // all their Parts are delivered
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
		for _, p := range l.leaving {
			l.fetch.lost <- p
		}
		l.leaving = l.leaving[:0]
		f.buffer.drop(l.fetch.source.keptBuffer())
		if l.pause > 0 {
			if !sleep(ctx, l.pause) {
				return ctx.Err()
			}
			l.pause = 0
		}
	}
}

// gather waits until the loop has a partition to request.
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

// arrive receives the partitions that the dispatcher has sent.
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

// send sends a request for all partitions. Brokers fill a response in the
// request's order up to a limit. Only the first batch of a response may exceed
// the limit; a later one that does not fit is left out. So the order changes
// with each request, and a large batch gets its turn.
func (l *loop) send(ctx context.Context, b *buffer) {
	ps := l.partitions
	first := ps[0]
	copy(ps, ps[1:])
	ps[len(ps)-1] = first
	l.asked = append(l.asked[:0], ps...)
	source := l.fetch.source
	b.holders.Store(1)
	l.shrink(b.call)
	b.call.version = int16(l.version.Load())
	b.call.fetch(&source.config, l.rack(), l.share, l.fetch.generation.topicID, l.asked)
	l.flying = true
	go func() {
		err := source.exchange(ctx, b.call, source.config.MaxWait+fetchTimeout)
		if err == nil && b.call.version < fetchByID {
			err = l.recheck(ctx)
		}
		l.landed <- flight{buffer: b, err: err} // has room, so this never blocks
	}()
}

// recheck makes sure that a response to a request by name, which has come, is from the
// Generation's topic and not from a later one of that name: the topic still has its id.
// If the brokers do not tell ids, this cannot be known.
func (l *loop) recheck(ctx context.Context) error {
	id := l.fetch.generation.topicID
	if id == noID {
		return nil
	}
	source := l.fetch.source
	t, err := source.metadataOf(ctx, l.broker, source.config.Topic)
	if err == nil && otherTopic(t.id, id) {
		err = errOtherTopic
	}
	return err
}

// near is a latency below which requests of PartitionBytes keep workers busy.
const near = 5 * time.Millisecond

// resize adapts the size of the requests to the network, after an exchange in which the
// first bytes of the response came after latency and the last ones after took. If the
// workers had finished all earlier responses before (waited), and a good part of the time
// was the latency of a broker that is not near, the next request asks for twice as much of
// each partition, up to RequestBytes in all. Where latency is a small part of it, more in
// each request would only take memory: the workers wait for the network's or the broker's
// throughput. Otherwise the next request asks for a little less, down to PartitionBytes,
// because small responses stay in the CPU caches. A response with less than half of what
// one partition could have brought changes nothing, because there was no more data.
//
// Latency is the least of late, because on a busy machine a single one may be anything. So
// the first one changes nothing.
func (l *loop) resize(waited bool, got int, latency, took time.Duration) {
	c := &l.fetch.source.config
	least, most := c.PartitionBytes, max(c.PartitionBytes, c.RequestBytes/max(1, len(l.asked)))
	if got < l.share/2 {
		return
	}
	switch {
	case l.latency == 0:
		l.latency = latency
		return
	case latency < l.latency:
		l.latency = latency
	default:
		l.latency += (latency - l.latency) / 64
	}
	if waited && l.latency > max(near, took/8) {
		l.share = min(2*l.share, most)
	} else {
		l.share = max(l.share-l.share/32, least)
	}
}

// shrink frees a buffer that is half as large again as the requests are now, unless its last
// response was large nevertheless, as one with large batches is.
func (l *loop) shrink(c *call) {
	if kept := cap(c.response); kept > 3*l.share*len(l.partitions)/2 && kept > 3*len(c.response)/2 {
		c.response = nil
	}
}

// rack returns the rack to name in the next request: none if a replica of one of its
// partitions has failed lately, because the leader would name that replica again.
func (l *loop) rack() string {
	now := time.Now()
	for _, p := range l.asked {
		if p.replica < 0 && now.Before(p.until) {
			return ""
		}
	}
	return l.fetch.source.config.Rack
}

// read parses a response. It returns the Parts to deliver and the partitions
// that are no longer read from this broker; it moves the other partitions on.
func (l *loop) read(f flight) (parts []event.Part, lost []*partition, err error) {
	source := l.fetch.source
	response := &f.buffer.response
	if f.err == nil {
		f.err = response.parse(f.buffer.call)
	}
	if f.err == nil && response.code != 0 {
		f.err = response.code
	}
	if f.err != nil {
		if source.judge(f.err) == fatal {
			return nil, nil, source.config.explain(f.err)
		}
		source.notices.failed(l.subject, f.err)
		f.buffer.call = l.newCall() // the exchange may still use the old one
		for _, p := range l.asked {
			lost = append(lost, l.lose(p))
		}
		return nil, lost, nil
	}
	l.resize(len(l.free) == buffers-1, len(f.buffer.call.response), f.buffer.call.latency, f.buffer.call.took)
	l.pause = time.Duration(response.throttle) * time.Millisecond
	now := time.Now()
	for i := range response.partitions {
		r := &response.partitions[i]
		p, first := l.answered(r.partition)
		if p == nil {
			continue
		}
		switch r.code {
		case 0:
			if r.replica >= 0 && r.replica != l.broker {
				lost = append(lost, l.redirect(p, r.replica, now))
				continue
			}
			part, some, err := l.accept(p, r, first, f.buffer)
			if some {
				parts = append(parts, part)
			}
			if err != nil {
				return nil, nil, err
			}
			if p.replica >= 0 && !now.Before(p.until) {
				p.readLeader()
				l.leave(p)
			}
		case kafka.OffsetOutOfRange:
			p.outside = true
			lost = append(lost, l.lose(p))
		case kafka.InvalidMessage: // the broker found the damage itself
			if err := l.fetchAgain(p, corrupt("the broker says so: %v", r.code)); err != nil {
				return nil, nil, err
			}
			lost = append(lost, l.lose(p))
		default:
			err := fmt.Errorf("partition %d: %w", p.id, r.code)
			if source.judge(err) == fatal {
				return nil, nil, source.config.explain(err)
			}
			source.notices.failed(l.subject, err)
			if r.code == kafka.NotLeaderForPartition || r.code == kafka.FencedLeaderEpoch || r.code == kafka.UnknownLeaderEpoch {
				p.readLeader() // an election, of which a follower is not at fault
			}
			lost = append(lost, l.lose(p))
		}
	}
	if len(lost) == 0 {
		source.notices.worked(l.subject)
	}
	return parts, lost, nil
}

// accept verifies a partition's records and moves its position on. It returns a
// Part if there are records, or if the log's bounds have changed.
func (l *loop) accept(p *partition, r *fetched, first bool, b *buffer) (part event.Part, some bool, err error) {
	p.pause.Reset()
	whole, next, damage := verify(r.records, p.next)
	switch {
	case damage == nil && whole == 0 && len(r.records) > 0 && first:
		// Brokers truncate a response, but never its first batch.
		damage = corrupt("a batch whose end does not come, after %d bytes", len(r.records))
	case damage == nil && whole > 0 && next == p.next:
		damage, whole = corrupt("only batches before the offset asked for"), 0
	}
	known := [3]int64{r.highWater, r.lastStable, r.logStart}
	if whole > 0 || known != p.bounds {
		p.bounds = known
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
		err = l.fetchAgain(p, damage)
		if p.replica >= 0 {
			l.fetch.leaveReplica(p)
			l.leave(p)
		}
	}
	return part, some, err
}

// fetchAgain notes damage at p.next. The first time, the batch is fetched again, because
// the network may have damaged it. The second time, the log itself is damaged; that is an
// error if the log is the leader's.
func (l *loop) fetchAgain(p *partition, damage error) error {
	switch {
	case p.replica >= 0:
	case p.damaged == p.next:
		return &BatchError{Partition: p.id, Offset: p.next, Reason: damage}
	default:
		p.damaged = p.next
	}
	l.fetch.source.notices.log.Warn("kafka: a record batch arrived damaged and is fetched again",
		"partition", p.id, "offset", p.next, "error", damage)
	return nil
}

// answered finds a partition of the request, once, and reports whether it was
// the first of the request.
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

// lose removes a partition from this loop because it cannot be read here. It is
// read from its leader after a backoff.
func (l *loop) lose(p *partition) *partition {
	l.remove(p)
	l.fetch.leaveReplica(p)
	p.later()
	return p
}

// redirect removes a partition from this loop, because the leader has named a replica
// instead of sending records. If the request did not name the rack, there is a backoff,
// because the leader might name a broken replica again and again. A replica that is not
// the leader must not name another one.
func (l *loop) redirect(p *partition, replica int32, now time.Time) *partition {
	if p.replica >= 0 {
		return l.lose(p)
	}
	l.remove(p)
	if now.Before(p.until) {
		p.later()
	}
	l.fetch.source.notices.log.Debug("kafka: a partition is read from the replica that its leader says is nearest",
		"partition", p.id, "broker", replica, "leader", l.broker)
	p.replica, p.until = replica, now.Add(l.fetch.source.config.Lease)
	return p
}

// readLeader sends a partition to its leader, which may name a nearer replica.
func (p *partition) readLeader() { p.replica, p.until = -1, time.Time{} }

// leaveReplica makes a partition be read from its leader for the time of a lease, if it
// was read from another replica.
func (f *fetch) leaveReplica(p *partition) {
	if p.replica >= 0 {
		p.replica, p.until = -1, time.Now().Add(f.source.config.Lease)
	}
}

// leave removes a partition from this loop, for another broker. The dispatcher gets
// it after the Parts of this response are delivered.
func (l *loop) leave(p *partition) {
	l.remove(p)
	l.leaving = append(l.leaving, p)
}

func (l *loop) remove(p *partition) {
	if i := slices.Index(l.partitions, p); i >= 0 {
		l.partitions = slices.Delete(l.partitions, i, i+1)
	}
}
