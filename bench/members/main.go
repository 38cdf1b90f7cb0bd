// Command members measures what the restart of one member costs the partitions of the
// others, and what members cost that have nothing to read, with each way to divide
// partitions that weir has or could have: its own group code, members by number
// (kafka.member), and the group of franz-go, cooperative-sticky and with static members.
//
//	make bench-members
//
// Eight members share 32 partitions of a real Kafka 4. A member takes some time to give
// partitions back, as weir does with its last flush. Nothing is read: what is measured is
// how long a partition has no owner. The two libraries run in this process, one at a time.
// Then eight real processes count a flow into the real engine, and what is measured is how old
// their numbers are (freshness.go).
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/twmb/franz-go/pkg/kadm"
	"github.com/twmb/franz-go/pkg/kgo"

	"weir/bench/internal/ground"
	"weir/ingest"
)

var (
	bench  = ground.Command("members")
	rounds = flag.Int("rounds", 5, "how often a member is restarted")
	flush  = flag.Duration("flush", 20*time.Millisecond, "how long a member takes to give partitions back")
	idle   = flag.Duration("for", 20*time.Second, "how long members without anything to read are measured")
	window = flag.Duration("window", 10*time.Second, "how long ages are watched before a restart, and from it on")
)

const (
	members    = 8
	partitions = 32
	topic      = "clicks"
	session    = 10 * time.Second
	heartbeat  = time.Second
	never      = 2 * time.Minute // until the partitions have settled

	// most is how much older the median of the others' numbers may be while a member by number is
	// restarted: a part of a flush's interval, because flushes come at any moment.
	most = 200 * time.Millisecond
)

func main() { bench.Main(run) }

// A way divides the partitions of the topic.
type way struct {
	name string
	// join makes member i, which tells o what it owns, and returns what ends it.
	join func(broker, group string, i int, o *owners) (end func(), err error)
}

var ways = []way{
	{"weir, group", ours(false)},
	{"weir, by number", ours(true)},
	{"franz-go, cooperative", theirs(false)},
	{"franz-go, static", theirs(true)},
}

func run(ctx context.Context) error {
	g, err := ground.New()
	if err != nil {
		return err
	}
	defer g.Close()
	broker := g.Broker
	if err := create(ctx, broker); err != nil {
		return err
	}
	var report ground.Report
	report.Say("# %d members of %d partitions, one is restarted; %v to give partitions back; sessions of %v, a heartbeat each %v", members, partitions, *flush, session, heartbeat)
	report.SayWhere()
	report.Say("# without an owner: the partition that is it longest, of %d restarts the median and the worst, ms", *rounds)
	report.Say("%-24s %20s %20s %18s", "", "of the other seven", "of the restarted", "idle, % of a core")
	for i, w := range ways {
		if err := w.measure(broker, fmt.Sprint("members-", i), &report); err != nil {
			return fmt.Errorf("%s: %w", w.name, err)
		}
	}
	report.Say("# freshness: eight processes of weir run, %d events a second; the age of the oldest event that the ledger does not cover, of the partition", int(partitions*time.Second/beat))
	report.Say("# where it is greatest, in %v before a restart and in %v from it on, of %d restarts the median and the worst, ms", *window, *window, *rounds)
	report.Say("%-24s %20s %20s %18s", "", "others, before", "others, meanwhile", "of the restarted")
	var missed []string
	for _, byNumber := range []bool{false, true} {
		name := map[bool]string{false: "fresh_group", true: "fresh_number"}[byNumber]
		added, err := measureFreshness(ctx, g, name, byNumber, &report)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if byNumber && added > most {
			missed = append(missed, fmt.Sprintf("the restart of a member by number makes the others' numbers %v older", added))
		}
	}
	return bench.Save(&report, missed)
}

// middle returns the median and the worst in milliseconds, and sorts them.
func middle(all []time.Duration) string {
	slices.Sort(all)
	return fmt.Sprintf("%d, %d", all[len(all)/2].Milliseconds(), all[len(all)-1].Milliseconds())
}

func create(ctx context.Context, broker string) error {
	cl, err := kgo.NewClient(kgo.SeedBrokers(broker))
	if err != nil {
		return err
	}
	defer cl.Close()
	_, err = kadm.NewClient(cl).CreateTopic(ctx, partitions, 1, nil, topic)
	return err
}

// measure starts the members of a group, restarts one of them at a time, and lets them idle.
func (w *way) measure(broker, group string, report *ground.Report) (err error) {
	o := newOwners()
	var ends [members]func()
	defer func() {
		for _, end := range ends {
			if end != nil {
				end()
			}
		}
	}()
	for i := range ends {
		if ends[i], err = w.join(broker, group, i, o); err != nil {
			return err
		}
	}
	if err := o.settle(); err != nil {
		return err
	}
	var others, own []time.Duration
	for round := range *rounds {
		i := round % members
		before := o.observe(i)
		ends[i]()
		if ends[i], err = w.join(broker, group, i, o); err != nil {
			return err
		}
		if err := o.settle(); err != nil {
			return err
		}
		longest := o.gaps(before)
		others, own = append(others, longest[false]), append(own, longest[true])
	}
	cpu := ground.CPU(os.Getpid())
	time.Sleep(*idle)
	share := 100 * float64(ground.CPU(os.Getpid())-cpu) / float64(*idle)
	report.Say("%-24s %20s %20s %18.2f", w.name, middle(others), middle(own), share)
	return nil
}

// owners knows how many members own each partition, and how long each had none.
type owners struct {
	mu      sync.Mutex
	of      [partitions]map[int]bool
	since   [partitions]time.Time // when it lost its last owner
	longest [partitions]time.Duration
	changed time.Time
}

func newOwners() *owners {
	o := &owners{changed: time.Now()}
	for p := range o.of {
		o.of[p], o.since[p] = map[int]bool{}, time.Now()
	}
	return o
}

// own notes that a member has partitions, or has them no more.
func (o *owners) own(member int, list []int32, has bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	now := time.Now()
	for _, p := range list {
		if o.of[p][member] == has {
			continue
		}
		before := len(o.of[p])
		if has {
			o.of[p][member] = true
		} else {
			delete(o.of[p], member)
		}
		switch after := len(o.of[p]); {
		case before == 0 && after > 0:
			o.longest[p] = max(o.longest[p], now.Sub(o.since[p]))
		case before > 0 && after == 0:
			o.since[p] = now
		}
		o.changed = now
	}
}

// observe forgets the gaps so far, and returns which partitions a member has.
func (o *owners) observe(member int) (has [partitions]bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for p := range o.of {
		has[p], o.longest[p] = o.of[p][member], 0
	}
	return has
}

// gaps returns the longest gap since observe: of the partitions that the member had, and of
// the others.
func (o *owners) gaps(had [partitions]bool) map[bool]time.Duration {
	o.mu.Lock()
	defer o.mu.Unlock()
	longest := map[bool]time.Duration{}
	for p, gap := range o.longest {
		longest[had[p]] = max(longest[had[p]], gap)
	}
	return longest
}

// settle waits until each partition has one owner, every member has some, and nothing has
// changed for some heartbeats, which tell members of a rebalance.
func (o *owners) settle() error {
	for began := time.Now(); time.Since(began) < never; time.Sleep(50 * time.Millisecond) {
		if o.quiet() {
			return nil
		}
	}
	return errors.New("the partitions never settled")
}

func (o *owners) quiet() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	have := map[int]bool{}
	for _, of := range o.of {
		if len(of) != 1 {
			return false
		}
		for member := range of {
			have[member] = true
		}
	}
	return len(have) == members && time.Since(o.changed) > 5*heartbeat
}

// ours joins with package ingest: with a group, or by number.
func ours(byNumber bool) func(string, string, int, *owners) (func(), error) {
	return func(broker, group string, i int, o *owners) (func(), error) {
		c := ingest.Config{Brokers: []string{broker}, Topic: topic, Group: group, Session: session, Heartbeat: heartbeat}
		if byNumber {
			c.Member = ingest.Member{Index: i, Of: members}
		}
		s, err := ingest.Open(c)
		if err != nil {
			return nil, err
		}
		ctx, cancel := context.WithCancel(context.Background())
		var ended sync.WaitGroup
		ended.Go(func() {
			for {
				g, err := s.Next(ctx)
				if err != nil {
					return
				}
				var list []int32
				for _, a := range g.Partitions() {
					list = append(list, a.Partition)
				}
				o.own(i, list, true)
				<-g.Done()
				time.Sleep(*flush)
				o.own(i, list, false)
				g.Release()
			}
		})
		return func() {
			cancel()
			ended.Wait()
			_ = s.Close()
		}, nil
	}
}

// theirs joins with franz-go, which reads nothing: the topic is paused.
func theirs(static bool) func(string, string, int, *owners) (func(), error) {
	return func(broker, group string, i int, o *owners) (func(), error) {
		lost := func(_ context.Context, _ *kgo.Client, lost map[string][]int32) {
			time.Sleep(*flush)
			o.own(i, lost[topic], false)
		}
		options := []kgo.Opt{
			kgo.SeedBrokers(broker), kgo.ConsumeTopics(topic), kgo.ConsumerGroup(group), kgo.SessionTimeout(session), kgo.HeartbeatInterval(heartbeat),
			kgo.DisableAutoCommit(), kgo.Balancers(kgo.CooperativeStickyBalancer()),
			kgo.OnPartitionsAssigned(func(_ context.Context, _ *kgo.Client, got map[string][]int32) { o.own(i, got[topic], true) }),
			kgo.OnPartitionsRevoked(lost), kgo.OnPartitionsLost(lost),
		}
		if static {
			options = append(options, kgo.InstanceID(fmt.Sprint(group, "-", i)))
		}
		cl, err := kgo.NewClient(options...)
		if err != nil {
			return nil, err
		}
		cl.PauseFetchTopics(topic)
		return func() {
			cl.Close()
			o.own(i, all(), false) // a static member that closes tells no callback
		}, nil
	}
}

func all() (list []int32) {
	for p := range int32(partitions) {
		list = append(list, p)
	}
	return list
}
