package clickhouse

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"weir/demo/local/localtest"
	"weir/event"
	"weir/measures/bitmap"
	"weir/measures/bloom"
	"weir/measures/face"
	"weir/measures/geo"
	"weir/measures/hll"
	"weir/sinks/clickhouse/migrate"
	"weir/sinks/clickhouse/questions"
	"weir/sinks/clickhouse/schema"
	"weir/sinks/clickhouse/verify"
	"weir/sinks/clickhouse/wire"
	"weir/window"
)

func TestMain(m *testing.M) { localtest.Main(m) }

// open connects to a database of its own on the engine.
func open(t testing.TB) *Client {
	t.Helper()
	url, database := localtest.Engine(t)
	return dial(t, wire.Config{URLs: []string{url}, Database: database})
}

func dial(t testing.TB, cfg wire.Config) *Client {
	t.Helper()
	c, err := Open(cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// long is for the tests that take longest, and change nothing that other databases see. They
// run beside each other, when all other tests have ended: the engine uses one processor for a
// statement, and this package ends last.
func long(t *testing.T) {
	t.Helper()
	t.Parallel()
}

// install makes the tables and views of a job and opens it, without the views that questions are asked of and
// weir_audit, which take the engine three times as long as all the rest. It does not check the tables
// as Client.Job does. In an empty database it runs the statements of a migration without
// reading anything for them first, and makes the functions, which belong to the engine,
// only once: together two thirds of what Migrate costs.
func install(t testing.TB, c *Client, j schema.Job) *Sink {
	t.Helper()
	return without(t, c, j, func(object string, l *schema.Layout) bool {
		return slices.Contains(verify.AuditViews, object) || slices.Contains(questions.Names(l), object)
	})
}

// asking is install with the views that questions are asked of.
func asking(t testing.TB, c *Client, j schema.Job) *Sink {
	t.Helper()
	return without(t, c, j, func(object string, _ *schema.Layout) bool { return slices.Contains(verify.AuditViews, object) })
}

// full is install with all views, for tests that read weir_audit, or what Job says or Migrate does next.
func full(t testing.TB, c *Client, j schema.Job) *Sink {
	t.Helper()
	return without(t, c, j, func(string, *schema.Layout) bool { return false })
}

func without(t testing.TB, c *Client, j schema.Job, out func(object string, l *schema.Layout) bool) *Sink {
	t.Helper()
	l, err := j.Plan()
	if err != nil {
		t.Fatal(err)
	}
	begun.Lock()
	first := !begun.databases[c.Config.Database]
	begun.databases[c.Config.Database] = true
	begun.Unlock()
	if !first {
		if _, err := c.Migrate(t.Context(), []schema.Job{j}, migrate.Options{}); err != nil {
			t.Fatal(err)
		}
		return c.sink(l)
	}
	begun.functions.Do(func() { functionsOn(t, c) })
	ids, err := c.Members(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for i, on := range c.Shards {
		inv := &migrate.Inventory{Database: true}
		inv.Member(ids, i)
		steps, err := migrate.Steps(c.DB, inv, []*schema.Layout{l})
		if err != nil {
			t.Fatal(err)
		}
		steps = slices.DeleteFunc(steps, func(s migrate.Statement) bool { return out(s.Object, l) })
		for _, s := range steps {
			if slices.ContainsFunc(schema.Functions(), func(f face.Function) bool { return f.Name == s.Object }) {
				continue
			}
			if err := c.ExecOn(t.Context(), wire.Shards{on}, "install "+s.Object, cmp.Or(s.Full, s.SQL), wire.QueryTimeout); err != nil {
				t.Fatal(err)
			}
		}
		if err := migrate.Record(t.Context(), c.DB, on, steps); err != nil {
			t.Fatal(err)
		}
	}
	return c.sink(l)
}

// begun says in which databases install has made a job, and whether it has made the
// functions.
var begun = struct {
	sync.Mutex
	databases map[string]bool
	functions sync.Once
}{databases: map[string]bool{}}

// ages is a keep that has not passed since the fixed times of tests, such as noon, before 2080.
const ages = 20_000 * 24 * time.Hour

// clicks returns a job with a measure of every kind.
func clicks() schema.Job {
	return schema.Job{
		Topic: "clicks", Keep: ages,
		Rollups: []schema.Rollup{{Window: time.Minute}, {Window: time.Hour, KeepStates: 30 * 24 * time.Hour}, {Window: 24 * time.Hour}},
		Spec: &window.Spec{
			Job: "clicks", Version: 1, TimeField: "ts", TimeUnit: event.Millis,
			Window: 60_000, Lateness: 86_400_000, Skew: 600_000, Chunk: 64, MaxGroups: 50,
			By: []window.Dimension{{Name: "page", Path: "page"}, {Name: "country", Path: "country", Default: "", HasDefault: true}},
			Measures: []window.Measure{
				{Name: "users", Kind: hll.Kind, Path: "user"},
				{Name: "active", Kind: bitmap.Kind, Path: "user"},
				{Name: "seen", Kind: bloom.Kind, Path: "id", Capacity: 100, Error: 0.01},
				{Name: "places", Kind: geo.Kind, Path: "user", Lon: "lon", Lat: "lat", Optional: true},
			},
		},
	}
}

// actives returns clicks with one measure, one rollup of state rows and one of a rollup.
// It is for tests of the order of writes and rollups, which does not depend on the
// measures, and is the same for every further rollup. The engine analyses its statements
// in half the time.
func actives() schema.Job {
	j := clicks()
	j.Spec.Measures = j.Spec.Measures[1:2]
	j.Rollups = j.Rollups[:2]
	return j
}

// read runs a query on all shards and returns its rows as text, one string for each row.
func read(t testing.TB, c *Client, sql string) []string {
	t.Helper()
	var rows []string
	err := c.Shards.Query(context.Background(), "test", "SELECT arrayStringConcat(arrayMap(x -> toString(x), [tuple(*)]), ' ') FROM ("+sql+")", func(scan func(...any) error) error {
		var s string
		err := scan(&s)
		rows = append(rows, s)
		return err
	})
	if err != nil {
		t.Fatalf("%v\n%s", err, sql)
	}
	return rows
}

func one(t testing.TB, c *Client, sql string) string {
	t.Helper()
	rows := read(t, c, sql)
	if len(rows) != 1 {
		t.Fatalf("%d rows, want one: %q\n%s", len(rows), rows, sql)
	}
	return rows[0]
}

// operator returns a worker of the job that starts partitions at offset 0.
func operator(t testing.TB, spec *window.Spec, partitions ...int32) *window.Operator {
	t.Helper()
	op, err := window.NewOperator(spec)
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range partitions {
		op.Start(window.Plan{Partition: p, TopicID: [16]byte{1, 2, 3, 15: 16}})
	}
	return op
}

// observe feeds documents to a partition at consecutive offsets.
func observe(t testing.TB, op *window.Operator, partition int32, from int64, at event.Time, docs ...string) {
	t.Helper()
	b := event.Batch{Partition: partition, First: from, Next: from + int64(len(docs))}
	for i, d := range docs {
		b.Records = append(b.Records, event.Record{Offset: from + int64(i), Time: at, Value: []byte(d)})
	}
	if err := op.Observe(&b); err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, s *Sink, c *window.Changes) {
	t.Helper()
	c.Table.Seal()
	if err := s.Write(t.Context(), c); err != nil {
		t.Fatal(err)
	}
}

func click(ts int64, page string, user int, id string) string {
	return fmt.Sprintf(`{"ts":%d,"page":%q,"user":%d,"id":%q,"lon":%f,"lat":%f}`, ts, page, user, id, 13.361389+float64(user)/100, 38.115556)
}
