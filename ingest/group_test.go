package ingest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"

	"weir/event"
	"weir/internal/await"
	"weir/internal/kafkatest"
)

func next(t testing.TB, ctx context.Context, s *Source) *Generation {
	t.Helper()
	g, err := wait(ctx, s)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func wait(ctx context.Context, s *Source) (*Generation, error) {
	g, err := s.Next(ctx)
	mine, _ := g.(*Generation)
	return mine, err
}

// later calls Next meanwhile. It returns nil if Next fails.
func later(ctx context.Context, s *Source) <-chan *Generation {
	got := make(chan *Generation, 1)
	go func() { g, _ := wait(ctx, s); got <- g }()
	return got
}

func ended(g *Generation) bool {
	select {
	case <-g.Done():
		return true
	default:
		return false
	}
}

// One member reads and commits; a second joins. The first learns of it, stops
// at once although its long poll would last an hour more, commits, and each
// gets half, at the committed offsets. When one closes, the other gets all,
// without waiting for a session, which is longer than the test waits.
func TestTwoMembersShareAndHandOver(t *testing.T) {
	kafka := realKafka(t)
	topic := newTopic(t, kafka.Addrs(), 4)
	for p := range int32(4) {
		produce(t, kafka.Addrs(), topic, p, numbered("a", 0, 10))
	}
	ctx := await.Context(t)
	config := Config{Brokers: kafka.Addrs(), Topic: topic, Group: topic, Session: await.Never + 5*time.Minute}
	a, _ := open(t, config)
	a.config.MaxWait = longPoll
	g := next(t, ctx, a)
	if n := len(g.Partitions()); n != 4 {
		t.Fatalf("the only member has %d partitions, want 4", n)
	}
	for _, p := range g.Partitions() {
		if p.Committed != -1 || p.LogStart != 0 || p.LogEnd != 10 || tellsID() == (p.TopicID == [16]byte{}) {
			t.Errorf("assigned %+v; want nothing committed, 0 to 10, and an id: %v", p, tellsID())
		}
	}
	ends := map[int32]int64{0: 10, 1: 10, 2: 10, 3: 10}
	fetchTo(t, ctx, g, starts(g), ends)

	// From here on there is nothing to read.
	returned := make(chan struct{})
	go func() {
		defer close(returned)
		err := g.Fetch(ctx, ends, func(p event.Part) error { p.Done(); return nil })
		if err != nil {
			t.Errorf("Fetch of a generation that ended: %v", err)
		}
	}()
	b, _ := open(t, config)
	b.config.MaxWait = longPoll
	other := make(chan *Generation, 1)
	go func() { g, _ := wait(ctx, b); other <- g }()
	<-g.Done()
	notified := time.Now()
	await.Receive(t, "Fetch returns, and does not wait for its long poll", returned)
	if !errors.Is(g.Err(), ErrEnded) {
		t.Errorf("Err is %v", g.Err())
	}
	if err := g.Commit(ctx, map[int32]int64{0: 7, 1: 7, 2: 7, 3: 7}); err != nil {
		t.Errorf("commit between Done and Release: %v", err)
	}
	g.Release()
	g.Release()
	if err := g.Commit(ctx, map[int32]int64{0: 8}); !errors.Is(err, ErrEnded) {
		t.Errorf("commit after Release: %v", err)
	}
	mine := next(t, ctx, a)
	theirs := <-other
	if theirs == nil {
		t.Fatal("the second member got nothing")
	}
	t.Logf("handed over %v after the notice", time.Since(notified).Round(time.Millisecond))
	seen := make(map[int32]bool)
	for _, p := range append(mine.Partitions(), theirs.Partitions()...) {
		if p.Committed != 7 {
			t.Errorf("partition %d was committed at 7, is at %d", p.Partition, p.Committed)
		}
		seen[p.Partition] = true
	}
	if len(mine.Partitions()) != 2 || len(theirs.Partitions()) != 2 || len(seen) != 4 {
		t.Errorf("%v and %v; want two different partitions each", mine.Partitions(), theirs.Partitions())
	}
	if err := mine.Commit(ctx, map[int32]int64{theirs.Partitions()[0].Partition: 1}); err == nil {
		t.Error("committing another member's partition went through")
	}
	if err := mine.Fetch(ctx, map[int32]int64{theirs.Partitions()[0].Partition: 1}, nil); err == nil {
		t.Error("fetching another member's partition went through")
	}

	go func() { <-mine.Done(); mine.Release() }()
	closes(t, b) // b has not released its generation
	if !ended(theirs) || !errors.Is(theirs.Err(), ErrClosed) {
		t.Errorf("after Close: ended %v, %v", ended(theirs), theirs.Err())
	}
	all := next(t, ctx, a)
	if n := len(all.Partitions()); n != 4 {
		t.Errorf("alone again: %d partitions, want 4", n)
	}
}

// The group removes a member that does not release within its session: the
// other one starts, and the zombie's commit is refused.
func TestZombieIsEvicted(t *testing.T) {
	kafka := realKafka(t)
	topic := newTopic(t, kafka.Addrs(), 1)
	config := Config{Brokers: kafka.Addrs(), Topic: topic, Group: topic, Session: 1500 * time.Millisecond}
	ctx := await.Context(t)
	a, _ := open(t, config)
	zombie := next(t, ctx, a)
	b, _ := open(t, config)
	got := later(ctx, b)
	<-zombie.Done()
	// The zombie holds on to its partition.
	if g := await.Receive(t, "the partition of a member that is silent for many sessions", got); g == nil || g.Partitions()[0].Committed != -1 {
		t.Fatalf("the other member got %v", g)
	}
	if err := zombie.Commit(ctx, map[int32]int64{0: 5}); err == nil {
		t.Error("the zombie's commit went through")
	}
	zombie.Release()
}

func TestPartitionsAdded(t *testing.T) {
	kafka := realKafka(t)
	topic := newTopic(t, kafka.Addrs(), 1)
	produce(t, kafka.Addrs(), topic, 0, numbered("a", 0, 3))
	s, _ := open(t, Config{Brokers: kafka.Addrs(), Topic: topic, Group: topic})
	ctx := await.Context(t)
	g := next(t, ctx, s)
	if err := g.Commit(ctx, map[int32]int64{0: 3}); err != nil {
		t.Fatal(err)
	}
	r, err := newAdmin(t, kafka.Addrs()).CreatePartitions(ctx, 2, topic)
	if err := errors.Join(err, r.Error()); err != nil {
		t.Fatal(err)
	}
	<-g.Done()
	g.Release()
	produce(t, kafka.Addrs(), topic, 2, numbered("b", 0, 2)) // before any member knows the partition
	g = next(t, ctx, s)
	id := g.Partitions()[0].TopicID
	for i, p := range g.Partitions() {
		committed := int64(-1)
		if i == 0 {
			committed = 3
		}
		if p.Partition != int32(i) || p.Committed != committed || p.LogStart != 0 || p.TopicID != id {
			t.Errorf("assigned %+v; want partition %d, committed %d", p, i, committed)
		}
	}
	got := fetchTo(t, ctx, g, starts(g), map[int32]int64{0: 3, 2: 2})
	sameList(t, "the added partition", got.plain[2], numbered("b", 0, 2))
}

func TestMissingTopicIsWaitedFor(t *testing.T) {
	kafka := realKafka(t)
	topic := newTopicName()
	s, book := open(t, Config{Brokers: kafka.Addrs(), Topic: topic, Group: topic})
	short, cancel := context.WithCancel(t.Context())
	defer cancel()
	go func() {
		defer cancel()
		eventually(t, "it is said", func() bool { return short.Err() != nil || strings.Contains(book.String(), "does not exist") })
		time.Sleep(300 * time.Millisecond) // long enough for a repetition of the message
	}()
	_, err := s.Next(short)
	if !errors.Is(err, context.Canceled) {
		t.Errorf("Next without the topic: %v", err)
	} else {
		contains(t, "Next without the topic", err.Error(), topic, "does not exist")
	}
	if n := strings.Count(book.String(), "does not exist; it is waited for"); n != 1 {
		t.Errorf("said %d times that the topic does not exist, want once:\n%s", n, book)
	}
	got := later(await.Context(t), s)
	createTopic(t, kafka.Addrs(), topic, 2)
	if g := <-got; g == nil || len(g.Partitions()) != 2 {
		t.Errorf("after its creation: %v", g)
	}
}

// The topic is deleted and created again while it is read. No record of the new
// topic may count as one of the old, whether the new log is shorter than the
// reader's position or longer.
func TestRecreatedTopic(t *testing.T) {
	kafka := realKafka(t)
	for _, n := range []int{2, 50} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			topic := newTopic(t, kafka.Addrs(), 1)
			produce(t, kafka.Addrs(), topic, 0, numbered("old", 0, 10))
			s, _ := open(t, Config{Brokers: kafka.Addrs(), Topic: topic, Group: topic, Watch: time.Minute})
			ctx := await.Context(t)
			g := next(t, ctx, s)
			was := g.Partitions()[0].TopicID
			k := newTaker(starts(g))
			result := make(chan error, 1)
			go func() { result <- k.fetch(ctx, g, nil) }()
			eventually(t, "the old records are read", func() bool { ok, _ := k.reached(map[int32]int64{0: 10}); return ok })
			recreate(t, kafka, topic, n)
			if !tellsID() {
				notRecognized(t, k, result, n)
				return
			}
			err := <-result
			var recreated *RecreatedError
			if !errors.Is(err, ErrRecreated) || !errors.As(err, &recreated) || recreated.Was != was || recreated.Is == was {
				t.Fatalf("Fetch of a recreated topic: %v", err)
			}
			if !ended(g) || !errors.Is(g.Err(), ErrRecreated) {
				t.Errorf("the generation: ended %v, %v", ended(g), g.Err())
			}
			sameList(t, "read", k.plain[0], numbered("old", 0, 10))
			g.Release()
			g = next(t, ctx, s)
			if p := g.Partitions()[0]; p.TopicID != recreated.Is || p.LogEnd != int64(n) {
				t.Errorf("then assigned %+v", p)
			}
		})
	}
}

// notRecognized is what a reader sees of a recreated topic where brokers tell no ids: a
// log that is shorter than it was, or nothing if it is longer. A request between the
// creation of a log and its first records finds it shorter in any case.
func notRecognized(t *testing.T, k *taker, result chan error, n int) {
	t.Helper()
	want := numbered("old", 0, 10)
	ended, err := false, error(nil)
	eventually(t, "the new records are read, or the log is found shorter", func() bool {
		select {
		case err = <-result:
			ended = true
			return true
		default:
			ok, _ := k.reached(map[int32]int64{0: int64(n)})
			return ok && n >= 10
		}
	})
	switch {
	case !ended:
		want = append(want, numbered("new", 10, n)...)
	case !errors.Is(err, ErrTruncated):
		t.Errorf("Fetch of a recreated topic: %v", err)
	}
	sameList(t, "read", k.plain[0], want)
}

func recreate(t *testing.T, kafka *kafkatest.Cluster, topic string, n int) {
	t.Helper()
	r, err := newAdmin(t, kafka.Addrs()).DeleteTopics(t.Context(), topic)
	if err := errors.Join(err, r.Error()); err != nil {
		t.Fatal(err)
	}
	createTopic(t, kafka.Addrs(), topic, 1)
	// The controller answers before the broker lets go of the old log, and what is
	// produced until then belongs to that.
	await.Until(t, func() error {
		ends, err := newAdmin(t, kafka.Addrs()).ListEndOffsets(t.Context(), topic)
		if err == nil {
			err = ends.Error()
		}
		if end, _ := ends.Lookup(topic, 0); err == nil && end.Offset != 0 {
			err = fmt.Errorf("the log ends at %d", end.Offset)
		}
		return err
	})
	produce(t, kafka.Addrs(), topic, 0, numbered("new", 0, n))
}

func TestOutOfRange(t *testing.T) {
	kafka := realKafka(t)
	topic := newTopic(t, kafka.Addrs(), 1)
	produce(t, kafka.Addrs(), topic, 0, numbered("", 0, 20))
	cut := make(kadm.Offsets)
	cut.Add(kadm.Offset{Topic: topic, Partition: 0, At: 12})
	if _, err := newAdmin(t, kafka.Addrs()).DeleteRecords(t.Context(), cut); err != nil {
		t.Fatal(err)
	}
	s, _ := open(t, Config{Brokers: kafka.Addrs(), Topic: topic})
	ctx := await.Context(t)
	g, err := s.Assign(ctx)
	if err != nil {
		t.Fatal(err)
	}
	if p := g.Partitions()[0]; p.LogStart != 12 || p.LogEnd != 20 {
		t.Errorf("assigned %+v", p)
	}
	for offset, want := range map[int64]error{11: ErrRetention, 21: ErrTruncated} {
		err := newTaker(map[int32]int64{0: offset}).fetch(ctx, g, nil)
		var r *RangeError
		if !errors.Is(err, want) || !errors.As(err, &r) || *r != (RangeError{0, offset, 12, 20}) {
			t.Errorf("Fetch from %d: %v; want %v with 12 to 20", offset, err, want)
		}
	}
	got := fetchTo(t, ctx, g, map[int32]int64{0: 12}, map[int32]int64{0: 20})
	sameList(t, "from the log's new start", got.plain[0], numbered("", 12, 20))
	if err := g.Commit(ctx, map[int32]int64{0: 20}); !errors.Is(err, ErrNoGroup) {
		t.Errorf("commit without a group: %v", err)
	}
	if _, err := s.Next(ctx); !errors.Is(err, ErrNoGroup) {
		t.Errorf("Next without a group: %v", err)
	}
}

// The only broker is killed with kill -9 in the middle and comes back: the
// generation ends and another begins, and every acknowledged record is read
// once. The broker remembers the groups. A member joins again with the same id,
// and does not wait for its former membership.
func TestBrokerKilled(t *testing.T) {
	kafka := kafkatest.Start(t, kafkatest.Config{})
	topic := newTopic(t, kafka.Addrs(), 2)
	s, book := open(t, Config{Brokers: kafka.Addrs(), Topic: topic, Group: topic, Session: 2 * time.Second})
	ctx := await.Context(t)
	g := next(t, ctx, s)

	const session = await.Never + 5*time.Minute // longer than the test waits
	other := newTopic(t, kafka.Addrs(), 2)
	member, _ := open(t, Config{Brokers: kafka.Addrs(), Topic: other, Group: other, ClientID: "weir-a-7-x", Session: session})
	share := next(t, ctx, member)
	was := share.lease.id

	var writing sync.WaitGroup
	writing.Add(1)
	go func() {
		defer writing.Done()
		for i := 0; i < 600; i += 20 {
			for p := range int32(2) {
				produce(t, kafka.Addrs(), topic, p, numbered("", i, i+20))
			}
		}
	}()
	k := newTaker(map[int32]int64{0: 0, 1: 0})
	go func() {
		eventually(t, "some is read", func() bool { ok, _ := k.reached(map[int32]int64{0: 100}); return ok })
		kafka.Kill(1)
		<-share.Done()
		share.Release()
		if err := kafka.Run(1); err != nil {
			t.Error(err)
		}
	}()
	ends := map[int32]int64{0: 600, 1: 600}
	for {
		err := k.fetch(ctx, g, ends)
		if err == nil {
			break
		}
		if !errors.Is(err, ErrEnded) {
			t.Fatal(err)
		}
		g.Release()
		g = next(t, ctx, s)
		again := newTaker(k.next)
		again.plain = k.plain
		k = again
	}
	writing.Wait()
	for p := range int32(2) {
		sameList(t, fmt.Sprint("partition ", p), k.plain[p], numbered("", 0, 600))
	}
	if strings.Contains(book.String(), "damaged") {
		t.Error("a batch arrived damaged")
	}
	share = next(t, ctx, member)
	if n := len(share.Partitions()); n != 2 || share.lease.id != was {
		t.Errorf("%d partitions as member %s; want both as %s", n, share.lease.id, was)
	}
}

// longPoll is longer than a test lasts, and than the configuration allows.
const longPoll = time.Hour

// closes fails if Close waits for the end of a session or of a long poll.
func closes(t *testing.T, s *Source) {
	t.Helper()
	done := make(chan struct{})
	go func() { s.Close(); close(done) }()
	await.Receive(t, "Close returns", done)
}

// Close in every state: before anything, while waiting for a broker that is
// not there, while fetching.
func TestCloseIsPromptInEveryState(t *testing.T) {
	kafka := realKafka(t)
	topic := newTopic(t, kafka.Addrs(), 1)
	closes := func(what string, s *Source) {
		t.Helper()
		closes(t, s)
		if _, err := s.Next(t.Context()); !errors.Is(err, ErrClosed) && !errors.Is(err, ErrNoGroup) {
			t.Errorf("%s: Next after Close: %v", what, err)
		}
	}
	idle, _ := open(t, Config{Brokers: kafka.Addrs(), Topic: topic})
	closes("idle", idle)

	lonely, _ := open(t, Config{Brokers: []string{"127.0.0.1:1"}, Topic: topic, Group: topic})
	result := make(chan error, 2)
	go func() { _, err := lonely.Next(t.Context()); result <- err }()
	time.Sleep(50 * time.Millisecond)
	closes("without a broker", lonely)
	if err := <-result; !errors.Is(err, ErrClosed) {
		t.Errorf("Next while closing: %v", err)
	}

	busy, _ := open(t, Config{Brokers: kafka.Addrs(), Topic: topic, Group: topic, Session: await.Never + 5*time.Minute})
	busy.config.MaxWait = longPoll
	g := next(t, await.Context(t), busy)
	go func() {
		result <- g.Fetch(t.Context(), starts(g), func(p event.Part) error { p.Done(); return nil })
	}()
	time.Sleep(50 * time.Millisecond)
	closes("in a long poll", busy)
	if err := <-result; !errors.Is(err, ErrClosed) {
		t.Errorf("Fetch while closing: %v", err)
	}
}
