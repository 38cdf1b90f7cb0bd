package ingest

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"weir/event"
	"weir/internal/await"
)

// Each partition has one owner, and shares differ by at most one.
func TestOwners(t *testing.T) {
	for _, of := range []int{1, 2, 3, 8} {
		for _, partitions := range []int32{1, 7, 8, 100} {
			shares := map[Member]int{}
			for p := range partitions {
				m := Member{0, of}.Owner("weir.clicks", p)
				if m.Of != of || m.Index < 0 || m.Index >= of {
					t.Fatalf("partition %d of %d belongs to %v", p, of, m)
				}
				shares[m]++
			}
			least, most := int(partitions)/of, (int(partitions)+of-1)/of
			for m, n := range shares {
				if n < least || n > most {
					t.Errorf("%v has %d of %d partitions, want %d to %d", m, n, partitions, least, most)
				}
			}
		}
	}
}

// eight opens eight members that read a topic of as many partitions.
func eight(t *testing.T, config Config) (sources []*Source, generations []*Generation) {
	t.Helper()
	owned := map[int32]int{}
	for i := range 8 {
		config.Member = Member{i, 8}
		s, _ := open(t, config)
		g := next(t, await.Context(t), s)
		for _, p := range g.Partitions() {
			owned[p.Partition]++
			if p.Committed != -1 {
				t.Errorf("assigned %+v", p)
			}
		}
		sources, generations = append(sources, s), append(generations, g)
	}
	if want := map[int32]int{0: 1, 1: 1, 2: 1, 3: 1, 4: 1, 5: 1, 6: 1, 7: 1}; !maps.Equal(owned, want) {
		t.Fatalf("owners by partition: %v", owned)
	}
	return sources, generations
}

// The restart of one of eight members does not touch the others: their generations go
// on, and they read what is produced while it is away. No group exists.
func TestRestartOfOneMemberPausesNoOther(t *testing.T) {
	kafka := realKafka(t)
	topic := newTopic(t, kafka.Addrs(), 8)
	config := Config{Brokers: kafka.Addrs(), Topic: topic, Group: topic}
	sources, generations := eight(t, config)
	ctx := await.Context(t)
	arrived := make(chan int32, 100)
	var reading sync.WaitGroup
	for i, g := range generations[1:] {
		reading.Go(func() {
			err := g.Fetch(ctx, starts(g), func(p event.Part) error {
				if p.HighWater > 0 {
					arrived <- p.Partition
				}
				p.Done()
				return nil
			})
			if err != nil && !errors.Is(err, ErrClosed) {
				t.Errorf("member %d: %v", i+1, err)
			}
		})
	}
	sources[0].Close()
	away := generations[0].Partitions()[0].Partition
	want := map[int32]bool{}
	for p := range int32(8) {
		produce(t, kafka.Addrs(), topic, p, numbered("a", 0, 3))
		if p != away {
			want[p] = true
		}
	}
	for len(want) > 0 { // the others read while it is away
		delete(want, <-arrived)
	}
	config.Member = Member{0, 8}
	again, _ := open(t, config)
	g := next(t, ctx, again)
	got := fetchTo(t, ctx, g, starts(g), map[int32]int64{away: 3})
	sameList(t, "the member that was away", got.plain[away], numbered("a", 0, 3))
	if err := g.Commit(ctx, map[int32]int64{away: 3}); err != nil {
		t.Error(err)
	}
	for i, g := range generations[1:] {
		if ended(g) {
			t.Errorf("the generation of member %d has ended: %v", i+1, g.Err())
		}
	}
	await.Until(t, func() error { // the first question about a group makes the broker create the topic of groups
		groups, err := newAdmin(t, kafka.Addrs()).DescribeGroups(ctx, topic)
		if g := groups[topic]; err == nil && g.State != "Dead" {
			t.Fatalf("there is a group: %+v", g)
		}
		return err
	})
	for _, g := range generations[1:] {
		g.Release()
	}
	reading.Wait()
}

// Partitions that are added reach the member that they belong to, whose generation ends;
// those of other members go on.
func TestPartitionsAddedToFixedMembers(t *testing.T) {
	kafka := realKafka(t)
	topic := newTopic(t, kafka.Addrs(), 1)
	ctx := await.Context(t)
	var owner, other Member
	for i := range 2 {
		if m := (Member{i, 2}); m.Owner(topic, 0) == m {
			owner = m
		} else {
			other = m
		}
	}
	config := Config{Brokers: kafka.Addrs(), Topic: topic, Group: topic, Member: owner}
	first, _ := open(t, config)
	g := next(t, ctx, first)
	config.Member = other
	second, book := open(t, config)
	waits := make(chan *Generation)
	go func() {
		g, err := wait(ctx, second)
		if err != nil {
			t.Error(err)
		}
		waits <- g
	}()
	eventually(t, "the other member has nothing to read", func() bool { return strings.Contains(book.String(), "no partitions for this member") })
	add := func(n int) {
		t.Helper()
		r, err := newAdmin(t, kafka.Addrs()).CreatePartitions(ctx, n, topic)
		if err := errors.Join(err, r.Error()); err != nil {
			t.Fatal(err)
		}
	}
	add(1) // partition 1, which is the other's
	h := <-waits
	if got := fmt.Sprint(numbers(h)); got != "[1]" {
		t.Fatalf("the other member has %s", got)
	}
	if ended(g) {
		t.Error("the first member's generation ended, although its share is the same")
	}
	add(1) // partition 2
	<-g.Done()
	g.Release()
	g = next(t, ctx, first)
	if got := fmt.Sprint(numbers(g)); got != "[0 2]" {
		t.Errorf("then the first member has %s", got)
	}
}

func numbers(g *Generation) (all []int32) {
	for _, a := range g.Partitions() {
		all = append(all, a.Partition)
	}
	return slices.Sorted(slices.Values(all))
}
