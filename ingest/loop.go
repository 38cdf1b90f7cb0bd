package ingest

import (
	"context"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/segmentio/kafka-go"
	"github.com/segmentio/kafka-go/protocol"

	"weir/event"
)

// This file reads the partitions of one broker: it requests, verifies and delivers, and
// gives back to the dispatcher in fetch.go what cannot be read there.

// Two buffers per broker: the worker reads one while the response to the next
// request fills the other.
const buffers = 2

// scrubBuffers overwrites a buffer after Done, so that tests find code that
// still reads it.
var scrubBuffers = false

// A loop reads from one broker. Each request names all its partitions.
type loop struct {
	dispatcher     *dispatcher
	broker         int32
	subject        string          // its name in the log
	arrivals       chan *partition // room for all partitions
	version        atomic.Int32    // of the requests; the dispatcher sets it before a partition arrives
	partitions     []*partition    // those that this loop has, in the order of the next request
	free           chan *buffer
	flying         bool
	landed         chan flight
	asked          []*partition  // those in the request in flight
	leaving        []*partition  // for another broker, after the Parts of this response are delivered
	partitionBytes int           // bytes to request of each partition, see resize
	latency        time.Duration // until the first bytes of a response come, about the least of late
	pause          time.Duration // how long the broker throttles this client
}

// A flight is a request whose response has come, or that has failed.
type flight struct {
	buffer *buffer
	err    error
}

// A buffer holds one Fetch response. The broker loop gives it to the exchange,
// then each Part of the response refers to it; when the last Part is Done, it
// returns to the loop's free list.
type buffer struct {
	call     *call
	response fetchResponse
	holders  atomic.Int32 // the loop, and every Part not Done
	free     chan<- *buffer
	scrub    bool // tests: overwrite a buffer without holders
}

// hold adds a holder.
func (b *buffer) hold() { b.holders.Add(1) }

// drop removes a holder; the last one returns the buffer to the free list.
func (b *buffer) drop(limit int) {
	if b.holders.Add(-1) > 0 {
		return
	}
	if b.scrub {
		clear(b.call.response[:cap(b.call.response)])
	}
	if cap(b.call.response) > limit { // a huge batch has enlarged it
		b.call.response = nil
	}
	b.free <- b // has room for every buffer of its loop
}

// keptBuffer returns the largest response buffer worth keeping for the next one.
func (s *Source) keptBuffer() int { return 2 * s.config.RequestBytes }

// run reads from the broker until ctx ends. It sends the next request before it delivers the present
// response: the batches' headers tell the next offsets. It returns when no request is under way.
func (l *loop) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer func() {
		if cancel(); l.flying {
			<-l.landed
		}
	}()
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
			l.dispatcher.lost <- p
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
			if err := l.dispatcher.deliver(p); err != nil {
				return err
			}
		}
		for _, p := range l.leaving {
			l.dispatcher.lost <- p
		}
		l.leaving = l.leaving[:0]
		f.buffer.drop(l.dispatcher.source.keptBuffer())
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
	source := l.dispatcher.source
	b.holders.Store(1)
	l.shrink(b.call)
	b.call.version = int16(l.version.Load())
	b.call.fetch(&source.config, l.rack(), l.partitionBytes, l.dispatcher.generation.topicID, l.asked)
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
	id := l.dispatcher.generation.topicID
	if id == [16]byte{} {
		return nil
	}
	source := l.dispatcher.source
	t, err := source.metadataOf(ctx, l.broker, source.config.Topic)
	if err == nil && event.OtherTopic(t.id, id) {
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
	c := &l.dispatcher.source.config
	least, most := c.PartitionBytes, max(c.PartitionBytes, c.RequestBytes/max(1, len(l.asked)))
	if got < l.partitionBytes/2 {
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
		l.partitionBytes = min(2*l.partitionBytes, most)
	} else {
		l.partitionBytes = max(l.partitionBytes-l.partitionBytes/32, least)
	}
}

// shrink frees a buffer that is half as large again as the requests are now, unless its last
// response was large nevertheless, as one with large batches is.
func (l *loop) shrink(c *call) {
	if kept := cap(c.response); kept > 3*l.partitionBytes*len(l.partitions)/2 && kept > 3*len(c.response)/2 {
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
	return l.dispatcher.source.config.Rack
}

// read parses a response. It returns the Parts to deliver and the partitions
// that are no longer read from this broker; it moves the other partitions on.
func (l *loop) read(f flight) (parts []event.Part, lost []*partition, err error) {
	source := l.dispatcher.source
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
		records := &packed{
			partition: p.id,
			from:      p.next,
			to:        next,
			set:       r.records[:whole],
			aborted:   r.aborted,
			source:    l.dispatcher.source,
			buffer:    b,
		}
		part, some = records.part(r), true
		p.next = next
	}
	if damage != nil {
		err = l.fetchAgain(p, damage)
		if p.replica >= 0 {
			l.dispatcher.leaveReplica(p)
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
	l.dispatcher.source.notices.log.Warn("kafka: a record batch arrived damaged and is fetched again",
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
	return &call{api: protocol.Fetch, broker: l.broker, limit: l.dispatcher.source.config.ResponseLimit}
}

// lose removes a partition from this loop because it cannot be read here. It is
// read from its leader after a backoff.
func (l *loop) lose(p *partition) *partition {
	l.remove(p)
	l.dispatcher.leaveReplica(p)
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
	l.dispatcher.source.notices.log.Debug("kafka: a partition is read from the replica that its leader says is nearest",
		"partition", p.id, "broker", replica, "leader", l.broker)
	p.replica, p.until = replica, now.Add(l.dispatcher.source.config.Lease)
	return p
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
