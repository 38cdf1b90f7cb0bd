package sinktest

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"weir/event"
	"weir/measures"
	"weir/measures/bitmap"
	"weir/measures/bloom"
	"weir/measures/extreme"
	"weir/measures/geo"
	"weir/measures/hll"
	"weir/measures/ordered"
	"weir/measures/quantile"
	"weir/measures/set"
	"weir/measures/sum"
	"weir/measures/topk"
	"weir/window"
)

const (
	partitions = 3
	offsets    = 400 // of each partition
	base       = 1_763_600_000_000
)

var topicID = [16]byte{0xd1, 0x5c, 0, 1, 15: 0x77}

// Spec returns the job of the suite: every kind of measure, two dimensions, and
// chunks so small that a run has many.
func Spec() *window.Spec {
	s := &window.Spec{
		Job: "suite", Version: 1, TimeField: "ts", TimeUnit: event.Millis,
		Window: 60_000, Lateness: 3_600_000, Skew: 600_000, Chunk: 64, MaxGroups: 5,
		By: []window.Dimension{{Name: "page", Path: "page"}, {Name: "country", Path: "geo.country", Default: "??", HasDefault: true}},
		Measures: []window.Measure{
			{Name: "users", Kind: hll.Kind, Path: "user"},
			{Name: "active", Kind: bitmap.Kind, Path: "user", Optional: true},
			{Name: "seen", Kind: bloom.Kind, Path: "id", Capacity: 200, Error: 0.01},
			{Name: "places", Kind: geo.Kind, Path: "user", Optional: true, Lon: "lon", Lat: "lat"},
			{Name: "dearest", Kind: extreme.Max, Path: "price", Optional: true},
			{Name: "cheapest", Kind: extreme.Min, Path: "price", Optional: true},
			{Name: "revenue", Kind: sum.Sum, Path: "price", Optional: true, Scale: 2},
			{Name: "usual", Kind: sum.Avg, Path: "price", Optional: true, Scale: 2},
			{Name: "entry", Kind: ordered.First, Path: "action"},
			{Name: "exit", Kind: ordered.Last, Path: "price", Optional: true},
			{Name: "people", Kind: set.Kind, Path: "user", Optional: true},
			{Name: "spread", Kind: quantile.Kind, Path: "price", Optional: true, Error: 0.05},
			{Name: "often", Kind: topk.Kind, Path: "user", Optional: true, K: 5},
		},
		Where:  []window.Condition{{Path: "action", In: []string{"view", "click"}}},
		Dedupe: &window.Dedupe{Path: "id", Error: 0.0001},
	}
	EveryKind(s, "user")
	return s
}

// EveryKind gives a job a measure of each kind that it has none of: of a kind that is new. It reads the field at path,
// which has a number.
func EveryKind(s *window.Spec, path string) {
	for _, k := range measures.All {
		if !slices.ContainsFunc(s.Measures, func(m window.Measure) bool { return m.Kind == k.Kind }) {
			s.Measures = append(s.Measures, window.Measure{Name: "any_" + k.Name, Kind: k.Kind, Path: path, Optional: true})
		}
	}
}

// A Log is what the partitions of a topic hold.
type Log [partitions][]event.Record

// NewLog makes a log with every outcome in it, and gaps.
func NewLog(seed uint64) *Log {
	r := rand.New(rand.NewPCG(seed, 42))
	log := new(Log)
	for p := range log {
		now := event.Time(base)
		for off := int64(0); off < offsets; off++ {
			if r.IntN(12) == 0 {
				off += r.Int64N(20) // a gap
			}
			now += event.Time(r.IntN(1500))
			log[p] = append(log[p], event.Record{Offset: min(off, offsets-1), Time: now, Value: document(r, p, off, now)})
		}
	}
	return log
}

// EachSpec returns the job of the suite for records that are arrays of events.
func EachSpec() *window.Spec {
	s := Spec()
	s.Each, s.Dedupe = "events", nil
	return s
}

// NewEachLog makes a log of such records: with no, one or several events, some of them faulty, and
// some records that are no arrays.
func NewEachLog(seed uint64) *Log {
	r := rand.New(rand.NewPCG(seed, 43))
	log := NewLog(seed)
	for p := range log {
		for i := range log[p] {
			rec := &log[p][i]
			docs := make([]string, r.IntN(5))
			for n := range docs {
				if docs[n] = string(document(r, p, rec.Offset*10+int64(n), rec.Time)); !json.Valid([]byte(docs[n])) {
					docs[n] = `{"ts":tru}`
				}
			}
			if rec.Value = []byte(`{"events":[` + strings.Join(docs, ",") + `]}`); r.IntN(20) == 0 {
				rec.Value = rec.Value[:len(rec.Value)-1]
			}
		}
	}
	return log
}

func document(r *rand.Rand, p int, off int64, now event.Time) []byte {
	ts := now - event.Time(r.IntN(150_000))
	switch r.IntN(30) {
	case 0:
		ts = now - 4_000_000 // late
	case 1:
		ts = now + 700_000 // future
	}
	id := off
	if r.IntN(8) == 0 {
		id = max(0, off-r.Int64N(100)) // a repeat
	}
	user := r.IntN(60)
	if r.IntN(4) == 0 {
		user = r.IntN(4_000_000_000)
	}
	country := []string{"", `,"geo":{"country":"DE"}`, `,"geo":{"country":"Ünited\nsp ace"}`}[r.IntN(3)]
	doc := fmt.Sprintf(`{"id":"p%de%d","ts":%d,"user":%d,"page":"/p/%d","action":"%s","lon":%f,"lat":%f%s}`,
		p, id, ts, user, r.IntN(4), []string{"view", "click", "buy"}[r.IntN(3)], r.Float64()*360-180, r.Float64()*160-80, country)
	if user%3 > 0 { // some events have no price, and some prices are negative
		doc = fmt.Sprintf(`{"price":%v,%s`, float64(user%2000-1000)/4, doc[1:])
	}
	switch r.IntN(25) {
	case 0:
		doc = doc[:r.IntN(len(doc))]
	case 1:
		doc = strings.Replace(doc, `"user":`, `"user":-`, 1)
	case 2:
		doc = strings.Replace(doc, `"lat"`, `"latitude"`, 1)
	}
	return []byte(doc)
}

// Feed passes the offsets [from, to) of a partition to an operator as one batch.
func (l *Log) Feed(op *window.Operator, partition int32, from, to int64) error {
	b := event.Batch{Partition: partition, First: from, Next: to}
	for _, rec := range l[partition] {
		if rec.Offset >= from && rec.Offset < to {
			b.Records = append(b.Records, rec)
		}
	}
	return op.Observe(&b)
}

// Whole returns the changes of one worker that counts the log in one pass.
func (l *Log) Whole(spec *window.Spec) (*window.Changes, error) {
	op, err := window.NewOperator(spec)
	if err != nil {
		return nil, err
	}
	for p := range int32(partitions) {
		op.Start(window.Plan{Partition: p, TopicID: topicID})
		if err := l.Feed(op, p, 0, offsets); err != nil {
			return nil, err
		}
	}
	c := op.Take()
	c.Table.Seal()
	return c, nil
}

// Pieces returns the changes of workers that count the log one after another. Each dies
// at a random place; the next one starts at the beginning of the chunk that holds the
// first offset of which no changes were taken. Changes are taken at random places.
func (l *Log) Pieces(spec *window.Spec, seed uint64) ([]*window.Changes, error) {
	r := rand.New(rand.NewPCG(seed, 7))
	var pieces []*window.Changes
	taken := [partitions]int64{} // the first offset of which no changes were taken
	done := func() bool { return taken == [partitions]int64{offsets, offsets, offsets} }
	for round := 0; !done(); round++ {
		op, err := window.NewOperator(spec)
		if err != nil {
			return nil, err
		}
		next := [partitions]int64{}
		for p := range int32(partitions) {
			plan, err := spec.Resume(event.Assignment{Partition: p, Committed: taken[p], LogEnd: offsets, TopicID: topicID}, map[int32]window.Known{p: {TopicID: topicID, Next: taken[p]}}, window.Policy{})
			if err != nil {
				return nil, err
			}
			op.Start(plan)
			next[p] = plan.Warm
		}
		for range 6 + round {
			p := r.Int32N(partitions)
			to := min(next[p]+1+r.Int64N(120), offsets)
			if err := l.Feed(op, p, next[p], to); err != nil {
				return nil, err
			}
			next[p] = max(next[p], to)
			if r.IntN(3) > 0 {
				continue
			}
			c := op.Take()
			c.Table.Seal()
			pieces = append(pieces, c)
			for _, n := range c.Next {
				taken[n.Partition] = max(taken[n.Partition], n.Offset)
			}
		}
	}
	return pieces, nil
}
