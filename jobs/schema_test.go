package jobs

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"log/slog"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"weir/event"
	"weir/internal/outage"
	"weir/window"
)

// avroSpec is spec with records that name their schemas.
func avroSpec() *window.Spec {
	s := spec()
	s.Format = event.Avro
	return s
}

// avroSchema is the schema of avroLog. In the second one the fields have another order.
func avroSchema(id uint32) *event.Schema {
	long, text := &event.AvroType{Kind: event.AvroLong}, &event.AvroType{Kind: event.AvroString}
	fields := []event.AvroField{{Name: "ts", Type: long}, {Name: "page", Type: text}, {Name: "user", Type: long}}
	if id == 2 {
		fields[0], fields[2] = fields[2], fields[0]
	}
	return &event.Schema{Avro: &event.AvroType{Kind: event.AvroRecord, Fields: fields}}
}

// avroLog has the events of a partition twice, with the schema 1 and then with 2.
func avroLog(records int) *fakeLog {
	l := &fakeLog{parts: make([][]event.Record, 1)}
	for i := range 2 * records {
		id := 1 + i/records
		now := int64(1_763_600_000_000 + i%records*10)
		first, last := now, int64(i%500)
		if id == 2 {
			first, last = last, first
		}
		b := binary.BigEndian.AppendUint32([]byte{0}, uint32(id))
		b = binary.AppendVarint(b, first)
		page := fmt.Sprint("/", i%20)
		b = append(binary.AppendVarint(b, int64(len(page))), page...)
		l.parts[0] = append(l.parts[0], event.Record{Offset: int64(i), Time: event.Time(now), Value: binary.AppendVarint(b, last)})
	}
	return l
}

// schemaDouble has the schema 1 at once, and the schema 2 when it is not away. While it is,
// it fails, or does not answer.
type schemaDouble struct {
	away, slow atomic.Bool
	asked      atomic.Int64 // tries that failed
}

func (d *schemaDouble) Schema(ctx context.Context, id event.SchemaID) (*event.Schema, error) {
	n := id.Name().Number
	if n == 2 && d.slow.Load() {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	if n == 2 && d.away.Load() {
		d.asked.Add(1)
		return nil, errors.New("the registry is away")
	}
	return avroSchema(n), nil
}

// TestSchemaOutage: while a schema cannot be had, the partition waits, what was counted before
// is flushed, the log says so in four lines, and no record is malformed. Then everything is
// counted.
func TestSchemaOutage(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const half = 1000
		var out bytes.Buffer
		log := slog.New(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelWarn}))
		double, sink := &schemaDouble{}, newSink(avroSpec())
		double.away.Store(true)
		src := &fakeSource{log: avroLog(half), committed: map[int32]int64{}}
		j, err := New(Config{Spec: avroSpec(), Topic: "clicks", Source: src, Sink: sink, Schemas: double, Workers: 1, Log: log, Outages: outage.New(log), WaitLimit: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- j.Run(ctx) }()
		next := func() int64 {
			known, err := sink.Known(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return known[0].Next
		}
		time.Sleep(130 * time.Second)
		if n := next(); n != half {
			t.Errorf("while a schema is missing, %d offsets are flushed, want %d", n, half)
		}
		want := map[string]uint64{}
		for key, n := range sink.counts() {
			want[key] = 2 * n
		}
		double.away.Store(false)
		time.Sleep(20 * time.Second)
		if n := next(); n != 2*half {
			t.Errorf("in the end %d offsets are flushed, want %d", n, 2*half)
		}
		if got := sink.counts(); !maps.Equal(got, want) || len(got) != 20 {
			t.Errorf("counted %v, want %v", got, want)
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		for _, l := range sink.all.Lines {
			if l.Outcomes[window.Malformed] > 0 {
				t.Errorf("chunk %d has %d malformed records", l.Chunk, l.Outcomes[window.Malformed])
			}
		}
		lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
		words := []string{unreadSchema.Begins, unreadSchema.GoesOn, unreadSchema.GoesOn, unreadSchema.Ends}
		if len(lines) != len(words) {
			t.Fatalf("%d lines, want %d:\n%s", len(lines), len(words), &out)
		}
		for i, l := range lines {
			if !strings.Contains(l, words[i]) || i < 3 && !strings.Contains(l, "partition 0 waits at offset 1000: the registry is away") {
				t.Errorf("line %d: %s\nwant %s", i, l, words[i])
			}
		}
		if n := double.asked.Load(); n < 20 || n > 60 {
			t.Errorf("it was asked %d times in 130 s", n)
		}
	})
}

// TestSchemaHoldsUpOnePartition: while a partition waits for a schema, the others of the same
// worker are counted to their ends; so are those that begin to wait later for another reason,
// once it is over. In the end all are counted as without waits.
func TestSchemaHoldsUpOnePartition(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const half, parts = 1000, 3
		src := &fakeSource{log: &fakeLog{}, committed: map[int32]int64{}}
		for range parts {
			src.log.parts = append(src.log.parts, avroLog(half).parts[0])
		}
		for i := range half { // the last partition needs no second schema
			src.log.parts[2][half+i].Value = src.log.parts[2][i].Value
		}
		double, sink := &schemaDouble{}, newSink(avroSpec())
		double.slow.Store(true) // no answer at all
		j, err := New(Config{Spec: avroSpec(), Topic: "clicks", Source: src, Sink: sink, Schemas: double, Workers: 1, WaitLimit: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		ended := make(chan error, 1)
		go func() { ended <- j.Run(ctx) }()
		check := func(want ...int64) {
			t.Helper()
			known, err := sink.Known(ctx)
			if err != nil {
				t.Fatal(err)
			}
			for p, n := range want {
				if known[int32(p)].Next != n {
					t.Errorf("%d offsets of partition %d are flushed, want %d", known[int32(p)].Next, p, n)
				}
			}
		}
		time.Sleep(60 * time.Second)
		check(half, half, 2*half)
		for p, want := range []string{"schema id 2", "schema id 2", ""} {
			if got := j.Status().Partitions[p].Schema; got != want {
				t.Errorf("partition %d waits for %q, want %q", p, got, want)
			}
		}
		src.mu.Lock()
		if _, fetched := src.from[2]; len(src.from) != 1 || !fetched {
			t.Errorf("while two partitions wait, these are fetched: %v", src.from)
		}
		src.mu.Unlock()
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}

		// The next process has a registry that fails and comes back.
		double.slow.Store(false)
		double.away.Store(true)
		if j, err = New(Config{Spec: avroSpec(), Topic: "clicks", Source: src, Sink: sink, Schemas: double, Workers: 1, WaitLimit: time.Hour}); err != nil {
			t.Fatal(err)
		}
		ctx, stop = context.WithCancel(t.Context())
		go func() { ended <- j.Run(ctx) }()
		time.Sleep(60 * time.Second)
		check(half, half, 2*half)
		double.away.Store(false)
		time.Sleep(20 * time.Second)
		check(2*half, 2*half, 2*half)
		for p, s := range j.Status().Partitions {
			if s.Schema != "" {
				t.Errorf("partition %d waits for %s", p, s.Schema)
			}
		}
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		got := sink.counts()
		for key, n := range got {
			if n != 6*half/20 {
				t.Errorf("%s: %d, want %d", key, n, 6*half/20)
			}
		}
		if len(got) != 20 {
			t.Errorf("%d groups, want 20", len(got))
		}
		for _, l := range sink.all.Lines {
			if l.Outcomes[window.Malformed] > 0 || l.Outcomes[window.Gap] > 0 {
				t.Errorf("partition %d, chunk %d: %v", l.Partition, l.Chunk, l.Outcomes)
			}
		}
	})
}

// TestStaleBatches: a batch that was fetched before its partition began to wait, and that
// does not follow what is counted, is not counted, and makes no gap.
func TestStaleBatches(t *testing.T) {
	op, err := window.NewOperator(avroSpec())
	if err != nil {
		t.Fatal(err)
	}
	op.Start(window.Plan{})
	op.Learn("\x00\x00\x00\x00\x01", avroSchema(1))
	records := avroLog(100).parts[0][:100]
	w := &worker{op: op, waits: map[int32]bool{}}
	give := func(first, next int64, want int64) {
		t.Helper()
		if err := w.observe(&event.Batch{First: first, Next: next, Records: records[first:next]}); err != nil {
			t.Fatal(err)
		}
		if at := op.Progress(0).Next; at != want {
			t.Fatalf("after [%d, %d) the next offset is %d, want %d", first, next, at, want)
		}
	}
	give(0, 10, 10)
	w.waits[0] = true
	give(10, 20, 10)
	w.waits[0] = false
	give(20, 30, 10)
	give(5, 30, 30) // fetched again
	give(20, 30, 30)
	give(30, 100, 100)
	if n := op.Take().Outcomes; n[window.Counted] != 100 || n[window.Gap] != 0 {
		t.Errorf("%v", n)
	}
}

// TestStopsWhileASchemaIsAwaited: neither a stop nor a new generation waits for a registry
// that does not answer, and what was counted before is flushed.
func TestStopsWhileASchemaIsAwaited(t *testing.T) {
	for _, slow := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			const half = 1000
			double, sink := &schemaDouble{}, newSink(avroSpec())
			double.away.Store(!slow)
			double.slow.Store(slow)
			src := &fakeSource{log: avroLog(half), committed: map[int32]int64{}}
			var generations atomic.Int64
			src.ttl = func() time.Duration { generations.Add(1); return 10 * time.Second }
			j, err := New(Config{Spec: avroSpec(), Topic: "clicks", Source: src, Sink: sink, Schemas: double, Workers: 1, WaitLimit: time.Hour})
			if err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- j.Run(ctx) }()
			time.Sleep(35 * time.Second)
			if n := generations.Load(); n < 3 {
				t.Errorf("%d generations of 10 s in 35 s", n)
			}
			began := time.Now()
			stop()
			if err := <-ended; err != nil {
				t.Error(err)
			}
			if d := time.Since(began); d > time.Second {
				t.Errorf("the stop took %s", d)
			}
			if known, err := sink.Known(t.Context()); err != nil || known[0].Next != half {
				t.Errorf("%d offsets are flushed, want %d; %v", known[0].Next, half, err)
			}
		})
	}
}
