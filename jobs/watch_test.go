package jobs

import (
	"bytes"
	"context"
	"fmt"
	"log/slog"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/audit"
	"weir/event"
	"weir/window"
)

// scene has a topic and a ledger that a test sets; nil means unreachable.
type scene struct {
	*fakeSource
	*mergeSink
	log    map[int32]event.Span
	ledger map[int32]audit.Covered
	hangs  bool // an unreachable part does not answer, instead of failing
	lacks  lacking
	looks  atomic.Int32
}

// turn orders what a test sets and what a look reads, for the race detector: both read it
// first and change it last. In a synctest bubble the two never run at the same time, but the
// race detector does not know that.
var turn atomic.Int64

func (s *scene) away(ctx context.Context) error {
	if s.hangs {
		<-ctx.Done()
		return ctx.Err()
	}
	return errAway
}

func (s *scene) Spans(ctx context.Context) (map[int32]event.Span, error) {
	if s.log == nil {
		return nil, s.away(ctx)
	}
	if s.lacks == nil {
		return s.log, nil
	}
	rest := maps.Clone(s.log)
	for _, p := range s.lacks {
		delete(rest, p)
	}
	return rest, s.lacks
}

// lacking is the error of a source about partitions without a leader.
type lacking []int32

func (l lacking) Error() string    { return fmt.Sprintf("partitions %v have no leader", []int32(l)) }
func (l lacking) Missing() []int32 { return l }

func (s *scene) Coverage(ctx context.Context) (audit.Coverage, error) {
	turn.Load()
	s.looks.Add(1)
	ledger := s.ledger
	turn.Add(1)
	if ledger == nil {
		return audit.Coverage{}, s.away(ctx)
	}
	return audit.Coverage{Now: event.Time(time.Now().UnixMilli()), Partitions: ledger}, nil
}

// watched runs f while the watch of a job runs that reads partition 0, with a fake clock. Looks come at
// multiples of 3 s.
func watched(t *testing.T, f func(t *testing.T, s *scene, j *Job, out *bytes.Buffer)) {
	synctest.Test(t, func(t *testing.T) {
		var out bytes.Buffer
		s := &scene{
			log:    map[int32]event.Span{0: {Next: 100}, 1: {Next: 100}, 2: {Next: 40}, 3: {First: 7, Next: 27}},
			ledger: map[int32]audit.Covered{0: {Next: 100, Watermark: 5000}, 1: {Next: 100, Watermark: 4000}},
		}
		j, err := New(Config{Spec: spec(), Topic: "clicks", Source: s, Sink: s, Log: slog.New(slog.NewTextHandler(&out, nil)), Flush: 1})
		if err != nil {
			t.Fatal(err)
		}
		j.status.assign([]window.Plan{{}}, []event.Assignment{{}})
		w := j.startWatch()
		defer w.stop()
		synctest.Wait() // for the first look
		f(t, s, j, &out)
	})
}

// after lets time pass, and waits for the look at its end.
func after(d time.Duration) {
	turn.Add(1)
	time.Sleep(d)
	synctest.Wait()
}

// TestWatchRests: when nothing has changed for a minute, looks become fewer, until
// something changes or records wait. They are few in a process that does not read the lowest partition.
func TestWatchRests(t *testing.T) {
	watched(t, func(t *testing.T, s *scene, j *Job, _ *bytes.Buffer) {
		looks := func(d time.Duration) int32 {
			before := s.looks.Load()
			after(d)
			return s.looks.Load() - before
		}
		if n := looks(3 * time.Minute); n != 60 {
			t.Errorf("%d looks in 3 minutes while records wait, want 60", n)
		}
		s.log = map[int32]event.Span{0: {Next: 100}, 1: {Next: 100}}
		after(2 * time.Minute)
		if n := looks(2 * time.Minute); n != 10 {
			t.Errorf("%d looks in 2 minutes at rest, want 10", n)
		}
		s.log = map[int32]event.Span{0: {Next: 101}, 1: {Next: 100}}
		s.ledger = map[int32]audit.Covered{0: {Next: 101, Watermark: 5000}, 1: {Next: 100, Watermark: 4000}}
		after(12 * time.Second)
		if n := looks(30 * time.Second); n != 10 {
			t.Errorf("%d looks in 30 s after a change, want 10", n)
		}
		j.status.assign([]window.Plan{{Partition: 1}}, []event.Assignment{{}})
		s.log = map[int32]event.Span{0: {Next: 102}, 1: {Next: 100}}
		after(12 * time.Second)
		if n := looks(2 * time.Minute); n != 10 {
			t.Errorf("%d looks in 2 minutes of a process that does not lead, want 10", n)
		}
	})
}

// TestWatchUncounted: two of four partitions hold records and nothing of them
// is flushed here. After WaitLimit, and no sooner, the status says so and
// the log has a line, then one a minute, and one when it is over.
func TestWatchUncounted(t *testing.T) {
	watched(t, func(t *testing.T, s *scene, j *Job, out *bytes.Buffer) {
		after(59 * time.Second)
		if u := j.Status().Uncounted; u != nil || out.Len() > 0 {
			t.Errorf("after 59 s: %v\n%s", u, out)
		}
		if got := j.Status().Waited; got != 57*time.Second {
			t.Errorf("records have waited for %s", got)
		}
		after(3 * time.Second)
		u := j.Status().Uncounted
		if u == nil || !slices.Equal(u.Partitions, []int32{2, 3}) || u.Records != 60 || u.For != time.Minute {
			t.Fatalf("after 62 s: %+v", u)
		}
		if want := "60 records of partitions 2-3 are not counted by this database: nothing of them was flushed for 1m0s; this process does not read them: "; !strings.HasPrefix(u.Error(), want) {
			t.Errorf("%q, want %q", u.Error(), want)
		}
		if strings.Count(out.String(), "\n") != 1 || !strings.Contains(out.String(), "level=WARN msg=\"records are not counted by this database") {
			t.Errorf("the log:\n%s", out)
		}
		out.Reset()
		after(3 * time.Minute)
		if strings.Count(out.String(), "\n") != 3 || strings.Count(out.String(), "still not counted by this database") != 3 {
			t.Errorf("three minutes later:\n%s", out)
		}
		if c := j.Status().Complete; c != 0 {
			t.Errorf("windows are complete until %d", c)
		}
		out.Reset()
		s.ledger = map[int32]audit.Covered{0: s.ledger[0], 1: s.ledger[1], 2: {Next: 1, Watermark: 3000}, 3: {Next: 27, Watermark: 9000}}
		after(3 * time.Second)
		if st := j.Status(); st.Uncounted != nil || st.Waited != 0 || st.Complete != 3000 {
			t.Errorf("once something is flushed: %+v", st)
		}
		if strings.Count(out.String(), "\n") != 1 || !strings.Contains(out.String(), "records of every partition are counted by this database again") {
			t.Errorf("the log:\n%s", out)
		}
	})
}

// TestUncountedCause: the stated cause depends on whether this process has the
// partitions. It is correct for a slow sink, a throttled reader and another
// deployment.
func TestUncountedCause(t *testing.T) {
	watched(t, func(t *testing.T, s *scene, j *Job, out *bytes.Buffer) {
		for _, c := range []struct {
			hand []int32
			want []string
			not  string
			wait []int32
		}{
			{[]int32{0, 1, 2, 3}, []string{"this process reads them, and reading or flushing makes no progress"}, "another", nil},
			{[]int32{0, 1}, []string{"this process does not read them: another process has"}, "throttles", nil},
			{[]int32{2}, []string{"this process reads 2, and reading or flushing makes no progress", "; of 3, another process has"}, "reads them", nil},
			{[]int32{2, 3}, []string{"; reading of 2-3 waits for schema id 17, which cannot be had (the log says why)"}, "throttles", []int32{2, 3}},
			{[]int32{2, 3}, []string{"; reading of 3 waits for schema id 17,", "; this process reads 2, and reading or flushing makes no progress"}, "another", []int32{3}},
			{[]int32{2}, []string{"; reading of 2 waits for schema id 17,", "; of 3, another process has"}, "throttles", []int32{2}},
		} {
			var plans []window.Plan
			for _, p := range c.hand {
				plans = append(plans, window.Plan{Partition: p})
			}
			j.status.assign(plans, make([]event.Assignment, len(plans)))
			for _, p := range c.wait {
				j.status.partition(p).waits.Store(&event.SchemaName{Number: 17})
			}
			after(70 * time.Second)
			u := j.Status().Uncounted
			if u == nil {
				t.Fatal("nothing is missed")
			}
			for _, w := range c.want {
				if !strings.Contains(u.Error(), w) {
					t.Errorf("with %v in hand: %q, want %q in it", c.hand, u, w)
				}
			}
			if strings.Contains(u.Error(), c.not) {
				t.Errorf("with %v in hand: %q", c.hand, u)
			}
		}
		if strings.Contains(out.String(), "deployment") {
			t.Errorf("the log blames another deployment:\n%s", out)
		}
	})
}

// TestWatchSinkAway: the status shows within one look and its time-out that the
// sink fails or does not answer, and that it works again. Time without a look
// counts for no partition.
func TestWatchSinkAway(t *testing.T) {
	for _, hangs := range []bool{false, true} {
		watched(t, func(t *testing.T, s *scene, j *Job, out *bytes.Buffer) {
			if e := j.Status().SinkError; e != "" {
				t.Fatal(e)
			}
			ledger := s.ledger
			s.ledger, s.hangs = nil, hangs
			after(lookTimeout + 3*time.Second)
			if e := j.Status().SinkError; e == "" {
				t.Errorf("hangs %t: the status knows of nothing", hangs)
			}
			after(10 * time.Minute)
			if u := j.Status().Uncounted; u != nil {
				t.Errorf("hangs %t: %v", hangs, u)
			}
			if n := strings.Count(out.String(), "\n"); n < 10 || n > 11 {
				t.Errorf("hangs %t: %d lines in ten minutes:\n%s", hangs, n, out)
			}
			s.ledger = ledger
			after(lookTimeout + 3*time.Second)
			if e := j.Status().SinkError; e != "" {
				t.Errorf("hangs %t: it is back, but %s", hangs, e)
			}
			if u := j.Status().Uncounted; u != nil {
				t.Errorf("hangs %t: time that was not watched is held against partitions: %v", hangs, u)
			}
			if !strings.Contains(out.String(), "the outage is over") {
				t.Errorf("the log:\n%s", out)
			}
			after(time.Minute)
			if u := j.Status().Uncounted; u == nil {
				t.Errorf("hangs %t: nothing is flushed of two partitions, and the status knows of none", hangs)
			}
		})
	}
}

// TestWatchLacks: while a partition has no leader no further window becomes complete, records of the others that
// are not counted are reported, and nothing is said to be over.
func TestWatchLacks(t *testing.T) {
	watched(t, func(t *testing.T, s *scene, j *Job, out *bytes.Buffer) {
		log := s.log
		s.log = map[int32]event.Span{0: log[0], 1: log[1]}
		after(3 * time.Second)
		if got := j.Status().Complete; got != 4000 {
			t.Fatalf("complete until %d", got)
		}
		s.lacks = lacking{1}
		s.ledger = map[int32]audit.Covered{0: {Next: 100, Watermark: 9000}, 1: {Next: 100, Watermark: 4000}}
		after(time.Hour)
		if st := j.Status(); st.Complete != 4000 || st.Uncounted != nil {
			t.Errorf("without partition 1: %+v", st)
		}
		s.log = log
		after(80 * time.Second)
		if u := j.Status().Uncounted; u == nil || !slices.Equal(u.Partitions, []int32{2, 3}) {
			t.Fatalf("not counted of the others: %v", u)
		}
		out.Reset()
		s.lacks = lacking{1, 2, 3}
		after(80 * time.Second)
		if u := j.Status().Uncounted; u != nil || out.Len() > 0 {
			t.Errorf("these have no leader any more: %v\n%s", u, out)
		}
		s.lacks, s.log = nil, map[int32]event.Span{0: log[0], 1: log[1]}
		after(3 * time.Second)
		if st := j.Status(); st.Complete != 4000 || st.Uncounted != nil || !strings.Contains(out.String(), "of every partition are counted by this database again") {
			t.Errorf("with all leaders: %+v\n%s", st, out)
		}
		s.ledger = map[int32]audit.Covered{0: {Next: 100, Watermark: 9000}, 1: {Next: 100, Watermark: 8000}}
		after(3 * time.Second)
		if got := j.Status().Complete; got != 8000 {
			t.Errorf("then complete until %d", got)
		}
	})
}
