package clickhouse

import (
	"cmp"
	"embed"
	"fmt"
	"hash/fnv"
	"slices"
	"strconv"
	"strings"
	"text/template"
	"time"

	"weir/flow/rounds"
	"weir/window"
)

// A column of a table.
type column struct {
	name, typ string
	extra     string // codec, default
	ttl       string // of its values; empty: none
}

func (c column) String() string {
	if c.ttl == "" {
		return c.definition()
	}
	return c.definition() + columnTTL + c.ttl
}

// definition returns the column without its TTL.
func (c column) definition() string {
	return strings.TrimRight(quote(c.name)+" "+c.typ+" "+c.extra, " ")
}

const columnTTL = " TTL "

// aliased begins the extra of a column that ClickHouse computes when it is read.
const aliased = "ALIAS "

// A table says how a table should be.
type table struct {
	name      string
	comment   string
	engine    string // without Replicated
	columns   []column
	indexes   []string
	partition string
	order     []string // columns
	ttl       string   // empty: none
	settings  string   // besides merging
	patient   bool     // each flush inserts into it, and no view reads many of its rows
	appends   bool     // columns of measures may be added to the table later
}

// merging returns the settings of the table that say how the server merges its parts.
func (t *table) merging() []setting {
	if t.patient {
		return []setting{sixteen, unanalysed}
	}
	return []setting{unanalysed}
}

// unanalysed is a setting of every table: a merge computes statistics by default, which are larger
// than a small part, and which no query of weir needs.
var unanalysed = setting{"auto_statistics_types", "''"}

// sixteen is a setting of patient tables. By default five parts start a merge, which writes the parts
// of the last minutes once more, whatever their size. The state table keeps that: with more parts, a
// view of an open hour takes a sixth longer, because it merges the states that no merge has.
var sixteen = setting{"merge_selector_base", "16"}

// synced are settings of every table, 1 with Config.Fsync: an insert is acknowledged when its part is on the
// disk. A row that says what others hold must not outlive them: a ledger line those that it covers, and
// what is noted of a rollup the rows of that. So there is no table without.
var synced = []string{"fsync_after_insert", "fsync_part_directory"}

// A setting is one of a table that can be changed later.
type setting struct{ name, value string }

func (s setting) String() string { return s.name + " = " + s.value }

// create returns the statement that makes the table.
func (t *table) create(c *Client) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s%s\n(\n", c.name(t.name), c.onCluster())
	for i, col := range t.columns {
		if i > 0 {
			b.WriteString(",\n")
		}
		b.WriteString("    " + col.String())
	}
	for _, x := range t.indexes {
		b.WriteString(",\n    " + x)
	}
	engine := t.engine
	if c.cfg.Cluster != "" {
		engine = "Replicated" + engine
	}
	fmt.Fprintf(&b, "\n)\nENGINE = %s\n", engine)
	if t.partition != "" {
		fmt.Fprintf(&b, "PARTITION BY %s\n", t.partition)
	}
	order := strings.Join(t.order, ", ")
	if len(t.order) > 1 {
		order = "(" + order + ")"
	}
	fmt.Fprintf(&b, "ORDER BY %s\n", order)
	if t.ttl != "" {
		fmt.Fprintf(&b, "TTL %s\n", t.ttl)
	}
	var settings []string
	if t.settings != "" {
		settings = append(settings, t.settings)
	}
	for _, m := range t.merging() {
		settings = append(settings, m.String())
	}
	settings = append(settings, c.unsynced("")...)
	fmt.Fprintf(&b, "SETTINGS %s\n", strings.Join(settings, ", "))
	fmt.Fprintf(&b, "COMMENT %s", text(t.comment))
	return b.String()
}

func (c *Client) onCluster() string {
	if c.cfg.Cluster == "" {
		return ""
	}
	return " ON CLUSTER " + text(c.cfg.Cluster)
}

const (
	utc    = "DateTime('UTC')"
	millis = "DateTime64(3, 'UTC')"

	deadLetterDays = 30
)

// touched returns the column that says when a row was last written, by the server's
// clock. TTLs use it; no number that is counted or shown depends on it.
func touched(name string) column {
	return column{name: name, typ: "SimpleAggregateFunction(max, " + utc + ")", extra: "DEFAULT now()"}
}

func indexName(column string) string { return column + "_range" }

func touchedIndex(name string) string {
	return fmt.Sprintf("INDEX %s %s TYPE minmax GRANULARITY 1", indexName(name), name)
}

// stamped returns the column that says in which round (package rounds) a row was last written.
func stamped(name string) column {
	return largest(name, "UInt64")
}

func largest(name, typ string) column {
	return column{name: name, typ: "SimpleAggregateFunction(max, " + typ + ")"}
}

// eventColumns returns the columns of the ledger that have a line's window.Events: all, then by
// outcome.
func eventColumns() []string {
	names := []string{"events"}
	for f := range window.Gap {
		names = append(names, "events_"+f.String())
	}
	return names
}

// eventNumbers returns where a line has the numbers of eventColumns.
func eventNumbers(l *window.Line) []*uint64 {
	to := []*uint64{&l.Events.All}
	for f := range l.Events.By {
		to = append(to, &l.Events.By[f])
	}
	return to
}

// LedgerTable is the name of the table with the outcomes of every offset.
const LedgerTable = "weir_ledger"

// common returns the tables that all jobs share.
func common() []table {
	ledger := table{
		name: LedgerTable, engine: "AggregatingMergeTree", patient: true,
		comment: "The outcomes of all offsets: one line for each chunk, all figures are maxima. Read it with FINAL.",
		columns: []column{
			{name: "job", typ: "LowCardinality(String)"}, {name: "version", typ: "UInt32"},
			{name: "epoch", typ: "UInt8"}, {name: "partition", typ: "UInt16"},
			{name: "chunk", typ: "UInt64"}, {name: "first", typ: "UInt64"},
			largest("next", "UInt64"),
		},
		indexes: []string{touchedIndex("flushed_at")},
		order:   []string{"job", "version", "epoch", "partition", "chunk", "first"},
	}
	for f := range window.Outcomes {
		ledger.columns = append(ledger.columns, largest(f.String(), "UInt64"))
	}
	for _, name := range eventColumns() {
		ledger.columns = append(ledger.columns, largest(name, "UInt64"))
	}
	ledger.columns = append(ledger.columns,
		largest("watermark", millis), largest("topic_id", "UUID"),
		touched("flushed_at"),
		column{name: "began", typ: "SimpleAggregateFunction(min, " + utc + ")", extra: "DEFAULT now()"},
		column{name: "slot", typ: "UInt64", extra: "ALIAS bitOr(bitOr(bitShiftLeft(toUInt64(epoch), 56), bitShiftLeft(toUInt64(partition), 40)), chunk)"},
	)
	return []table{
		{
			name: "weir_schema", engine: "MergeTree",
			comment: "Every statement that weir migrate has run.",
			columns: []column{
				{name: "applied_at", typ: millis, extra: "DEFAULT now64(3)"}, {name: "object", typ: "String"}, {name: "sql", typ: "String"},
			},
			order: []string{"applied_at", "object"},
		},
		{
			name: "weir_jobs", engine: "MergeTree",
			comment: "What each version of a job means, once for the job and once for each measure. The earliest row is valid.",
			columns: []column{
				{name: "job", typ: "LowCardinality(String)"}, {name: "version", typ: "UInt32"}, {name: "measure", typ: "String"},
				{name: "meaning", typ: "String"}, {name: "topic", typ: "String"}, {name: "keep", typ: "UInt32"},
				{name: "groups", typ: "Array(String)"}, {name: "rollup", typ: "String"}, {name: "seconds", typ: "UInt32"}, {name: "bits", typ: "UInt64"},
				{name: "created_at", typ: millis, extra: "DEFAULT now64(3)"},
			},
			order: []string{"job", "version", "measure", "created_at"},
		},
		ledger,
		{
			name: "weir_dead_letters", engine: "ReplacingMergeTree",
			comment: "Records that were not counted, with the reason. A payload of more than 16 KiB is cut: payload_bytes says how long it was. A repeated row is equal to the first: read it with FINAL.",
			columns: []column{
				{name: "job", typ: "LowCardinality(String)"}, {name: "version", typ: "UInt32"},
				{name: "epoch", typ: "UInt8"}, {name: "partition", typ: "UInt16"}, {name: "offset", typ: "UInt64"},
				{name: "topic", typ: "LowCardinality(String)"}, {name: "outcome", typ: "LowCardinality(String)"}, {name: "reason", typ: "String"},
				{name: "record_time", typ: millis}, {name: "payload", typ: "String", extra: "CODEC(ZSTD(1))"},
				{name: "payload_bytes", typ: "UInt64"},
				{name: "flushed_at", typ: utc, extra: "DEFAULT now()"},
			},
			order: []string{"job", "version", "epoch", "partition", "offset"},
			ttl:   "flushed_at + toIntervalDay(" + strconv.Itoa(deadLetterDays) + ")",
		},
		{
			name: "weir_rollups", engine: "AggregatingMergeTree",
			comment: "The current round of each job (the greatest opened), and how far each rollup is: it may lack rows of round done and later; windows that end by complete_until are complete.",
			columns: []column{
				{name: "job", typ: "LowCardinality(String)"}, {name: "version", typ: "UInt32"}, {name: "rollup", typ: "UInt32"},
				largest("opened", "UInt64"), largest("done", "UInt64"), largest("complete_until", millis),
			},
			order: []string{"job", "version", "rollup"},
		},
	}
}

// levelComment begins the comment of the table of a rollup. The length of its windows follows, by
// which a table is known that was exchanged with another one.
const levelComment = "Finished numbers and merged states of windows of "

// tablesOf returns the tables of weir and of jobs.
func tablesOf(layouts []*layout) []table {
	all := common()
	for _, l := range layouts {
		all = append(all, l.tables()...)
	}
	return all
}

// tables returns the job's own tables.
func (l *layout) tables() []table {
	start := column{name: "window_start", typ: utc}

	state := table{
		name: l.state(), engine: "AggregatingMergeTree", appends: true,
		comment:   "What weir writes: counts by slot and sketch states, by window and group. Rows with equal keys merge.",
		columns:   append(slices.Clone(l.by), start, column{name: "hits", typ: "SimpleAggregateFunction(maxMap, Map(UInt64, UInt64))"}),
		indexes:   []string{touchedIndex("flushed_at"), touchedIndex("flushed_in")},
		partition: "toYYYYMMDD(window_start)",
		order:     append([]string{"window_start"}, l.keys()...),
		ttl:       expiry("flushed_at", l.Keep),
		// ClickHouse reads at least a granule, which has some eighty dense sketches.
		settings: "index_granularity = 1024, index_granularity_bytes = 1048576, ttl_only_drop_parts = 1",
	}
	for m := range l.counted {
		state.columns = append(state.columns, m.states(m.Name, m.sql.State, "", "")...)
	}
	state.columns = append(state.columns, touched("flushed_at"), stamped("flushed_in"))
	all := []table{state}

	for m := range l.located {
		all = append(all, l.placesTable(m))
	}

	for _, v := range l.levels {
		t := table{
			name: v.table, engine: "AggregatingMergeTree", appends: true,
			comment:   levelComment + span(v.Window) + ".",
			columns:   append(slices.Clone(l.by), start, largest("hits", "UInt64")),
			indexes:   []string{touchedIndex("rolled_at"), touchedIndex("rolled_in")},
			partition: "toYYYYMM(window_start)",
			order:     append(l.keys(), "window_start"),
			settings:  "index_granularity_bytes = 4194304",
		}
		switch {
		case v.Window < time.Hour:
			t.partition = "toYYYYMMDD(window_start)"
		case v.Window >= 24*time.Hour:
			t.partition = "toYear(window_start)"
		}
		if v.Keep > 0 {
			// It begins when a row was last made, and not with its window: of a backfill, whose windows
			// are older, ClickHouse would not even store the rows that longer rollups are made from.
			t.ttl = expiry("rolled_at", v.Keep)
		}
		for m := range l.counted {
			if m.Additive() {
				continue
			}
			numbers := m.numbers()
			if m.sql.Raw {
				numbers.ttl = v.forget(m)
			}
			t.columns = append(t.columns, numbers)
		}
		for m := range l.counted {
			t.columns = append(t.columns, m.states(m.Name+"_state", cmp.Or(m.sql.Rolled, m.sql.State), m.sql.Unpacked, v.forget(m))...)
		}
		t.columns = append(t.columns, touched("rolled_at"), stamped("rolled_in"))
		all = append(all, t)
	}
	return all
}

// forget returns the TTL of a measure's states in the level's rows; empty if they live as
// long as the rows. The TTL begins when a row was last made, and not with its window, so
// that longer rollups can be made from the states of a backfill.
func (v *level) forget(m *measure) string {
	if !m.Expires() || v.KeepStates == 0 || v.Keep > 0 && v.Keep <= v.KeepStates {
		return ""
	}
	return expiry("rolled_at", v.KeepStates)
}

// had returns a condition that a row of the level, whose columns have a prefix, was made with
// something of the measure, and has that the row still has it. Where the number goes with the
// state, nothing tells that there was something. There a row that is too old counts as one
// that has lost it.
func (v *level) had(m *measure, prefix string) string {
	if m.sql.Raw {
		return "1"
	}
	return prefix + m.Column() + " > 0"
}

func (v *level) has(m *measure, prefix string) string {
	switch {
	case !m.sql.Raw:
		return m.Number(prefix+m.State()) + " > 0"
	case v.KeepStates == 0:
		return "1"
	}
	return fmt.Sprintf("%srolled_at > now('UTC') - %d", prefix, int64(v.KeepStates/time.Second))
}

// lost returns a condition that a row of the level has lost what it had of the measure.
func (v *level) lost(m *measure) string { return v.had(m, "") + " AND NOT (" + v.has(m, "") + ")" }

// keys returns the names of the group columns, quoted.
func (l *layout) keys() []string {
	var names []string
	for _, c := range l.by {
		names = append(names, quote(c.name))
	}
	return names
}

// expiry returns a TTL as ClickHouse prints it back.
func expiry(column string, keep time.Duration) string {
	return fmt.Sprintf("%s + toIntervalSecond(%d)", column, int64(keep/time.Second))
}

//go:embed schema/*.sql
var schemaFiles embed.FS

var schema = parseSchema()

func parseSchema() *template.Template {
	all := template.New("").Funcs(template.FuncMap{"text": text})
	files, err := schemaFiles.ReadDir("schema")
	if err != nil {
		panic(err)
	}
	for _, f := range files {
		b, err := schemaFiles.ReadFile("schema/" + f.Name())
		if err != nil {
			panic(err)
		}
		// Trimmed, so that a template can be inside a line of another one.
		template.Must(all.New(f.Name()).Parse(strings.TrimSpace(string(b))))
	}
	return all
}

// render executes one of the templates.
func render(name string, data any) string {
	var b strings.Builder
	if err := schema.ExecuteTemplate(&b, name+".sql", data); err != nil {
		panic(err) // the templates are ours and rendered by tests
	}
	return strings.TrimSpace(b.String())
}

// A view says how a view should be. Its comment tells it from others of the name, as those of
// another configuration, or one that a tool has made.
type view struct{ name, sql, comment string }

// createView begins the statement of a view.
const createView = "CREATE OR REPLACE VIEW "

// sign gives the view a comment with a hash of its statement, and of the functions, because
// ClickHouse puts their text, not their names, into it.
func (v *view) sign() {
	h := fnv.New64a()
	fmt.Fprint(h, v.sql, functions())
	v.comment = fmt.Sprintf("weir migrate made it: %016x", h.Sum64())
	v.sql += "\nCOMMENT " + text(v.comment)
}

// views returns the job's views, for people and dashboards.
func (l *layout) views(c *Client) []view {
	var all []view
	for i := range l.levels {
		d := l.level(c, i)
		all = append(all, view{name: d.v.view, sql: render("view", d)})
	}
	for m := range l.located {
		all = append(all, view{name: l.placesView(m), sql: render("places", placesData{c, l, m})})
	}
	return slices.Concat(all, l.overs(c), l.ids(c))
}

// levelData is what the templates about a rollup see.
type levelData struct {
	c      *Client
	l      *layout
	i      int    // its number
	v      *level // l.levels[i]
	before *level // the shorter rollup that it is made from; nil if First
	First  bool   // it is made from state rows

	totals bool // only the measures that add up
	wide   bool // it reads the tables of all shards: see wide.go

	// Only for the statements of Rollup and Repair.
	since   uint64 // windows with rows of this round or later are made
	round   uint64 // the stamp of the rows that are made
	windows []rounds.Window
}

// level returns the data of a level for views.
func (l *layout) level(c *Client, i int) levelData {
	d := levelData{c: c, l: l, i: i, v: &l.levels[i], First: i == 0, wide: c.wide}
	if i > 0 {
		d.before = &l.levels[i-1]
	}
	return d
}

func (d levelData) at(i int) levelData {
	v := d.l.level(d.c, i)
	v.wide = d.wide
	return v
}

func (d levelData) reads(table string) string { return d.c.read(table, d.wide) }

func (d levelData) OnCluster() string { return d.c.onCluster() }
func (d levelData) View() string      { return d.c.name(d.v.view) }
func (d levelData) Table() string     { return d.reads(d.v.table) }
func (d levelData) State() string     { return d.reads(d.l.state()) }
func (d levelData) Rollups() string   { return d.reads("weir_rollups") }
func (d levelData) Job() string       { return d.l.where() }
func (d levelData) Seconds() int64    { return d.v.seconds }
func (d levelData) Groups() string    { return d.l.groups() }

// Done returns a subquery for the round up to which the rollup has every row.
func (d levelData) Done() string {
	return fmt.Sprintf("(SELECT max(done) FROM %s WHERE %s AND rollup = %d)", d.Rollups(), d.Job(), d.Seconds())
}

// Place is the level's place among the levels, from 1. Shortest returns the first level,
// Before the one before this one, Shorter all before, Levels these and this one, and Next
// the one behind it.
func (d levelData) Place() int           { return d.i + 1 }
func (d levelData) Shortest() levelData  { return d.at(0) }
func (d levelData) Before() levelData    { return d.at(d.i - 1) }
func (d levelData) Next() levelData      { return d.at(d.i + 1) }
func (d levelData) Shorter() []levelData { return d.Levels()[:d.i] }
func (d levelData) Levels() (all []levelData) {
	for i := range d.i + 1 {
		all = append(all, d.at(i))
	}
	return all
}

// CompleteAt is the place of the time up to which windows are complete in _at of a view.
func (d levelData) CompleteAt() int { return d.i + 2 }

// Totals returns the level with only the measures that add up.
func (d levelData) Totals() levelData {
	d.totals = true
	return d
}

// Columns returns the columns of the view.
func (d levelData) Columns() string {
	var texts []string
	for _, c := range d.shown() {
		texts = append(texts, c.String())
	}
	return strings.Join(texts, ", ")
}

func (d levelData) shown() []column {
	all := append(slices.Clone(d.l.by), column{name: "window_start", typ: utc}, column{name: "hits", typ: "UInt64"})
	for m := range d.l.counted {
		all = append(all, m.viewed()...)
	}
	return append(all, column{name: "complete", typ: "UInt8"})
}

// Measures returns the measures that have columns, Additive those of them that add up,
// and Finished the others, of which rollups have finished numbers.
func (d levelData) Measures() []*measure {
	if d.totals {
		return d.Additive()
	}
	return slices.Collect(d.l.counted)
}

func (d levelData) Additive() []*measure {
	return slices.DeleteFunc(slices.Collect(d.l.counted), func(m *measure) bool { return !m.Additive() })
}

func (d levelData) Finished() []*measure {
	return slices.DeleteFunc(d.Measures(), (*measure).Additive)
}

// ByWindow reports whether the rows of each shorter window have to be merged before the
// windows are put together: those of the first rollup if it is longer than the job's
// windows, because counts by slot merge only within a window, and totals.
func (d levelData) ByWindow() bool {
	return d.First && !d.Same() || !d.First && len(d.Finished()) < len(d.Measures())
}

// Hits returns an expression for the hits of a window and group in state rows _s: the sum over
// the slots of the greatest count of each. maxMap finds the greatest, but takes a microsecond
// for each group. Most groups of a job with many have each slot once, and need no maximum.
func (d levelData) Hits() string {
	return "if(length(groupArrayArray(mapKeys(_s.hits)) AS _slots) = arrayUniq(_slots), arraySum(groupArrayArray(mapValues(_s.hits)) AS _counts), arraySum(arrayReduce('maxMap', [_slots], [_counts]).2))"
}

// Forgets reports whether states can have expired in the rows that the level is made from.
func (d levelData) Forgets() bool { return d.before != nil && d.before.KeepStates > 0 }

// Had and Has return the conditions of these rows, _s, about a measure: see level.had. Lost
// returns that of the level's own rows.
func (d levelData) Had(m *measure) string  { return d.before.had(m, "_s.") }
func (d levelData) Has(m *measure) string  { return d.before.has(m, "_s.") }
func (d levelData) Lost(m *measure) string { return d.v.lost(m) }

// Same reports whether the rollup's windows are the job's own.
func (d levelData) Same() bool { return d.v.seconds*1000 == int64(d.l.Spec.Window) }

// Start returns an expression for the rollup's window that a window_start is in. Windows
// are aligned to 1970, as in package window.
func (d levelData) Start() string {
	if d.Same() {
		return "window_start"
	}
	return fmt.Sprintf("toDateTime(intDiv(toUnixTimestamp(window_start), %d) * %d, 'UTC')", d.v.seconds, d.v.seconds)
}
