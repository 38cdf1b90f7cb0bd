package schema

import (
	"cmp"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/event"
	"weir/sinks/clickhouse/wire"
	"weir/window"
)

// A Column of a table.
type Column struct {
	Name, Type string
	About      string // its comment; empty: that of its name in abouts
	extra      string // codec, default
	ttl        string // of its values; empty: none
}

func (c Column) String() string {
	if c.ttl == "" {
		return c.definition()
	}
	return c.definition() + ColumnTTL + c.ttl
}

// definition returns the column without its TTL.
func (c Column) definition() string {
	parts := []string{wire.Quote(c.Name), c.Type}
	if about := cmp.Or(c.About, abouts[c.Name]); about != "" {
		parts = append(parts, "COMMENT "+wire.Text(about))
	}
	switch {
	case strings.HasPrefix(c.extra, "CODEC"):
		parts = append(parts, c.extra)
	case c.extra != "": // a default, which comes before the comment
		parts = slices.Insert(parts, 2, c.extra)
	}
	return strings.Join(parts, " ")
}

const ColumnTTL = " TTL "

// aliased begins the extra of a column that ClickHouse computes when it is read.
const aliased = "ALIAS "

// A Table says how a table should be.
type Table struct {
	Name      string
	comment   string
	Engine    string // without Replicated
	Columns   []Column
	indexes   []string
	partition string
	order     []string // columns
	TTL       string   // empty: none
	settings  string   // besides merging
	patient   bool     // each flush inserts into it
	appends   bool     // columns of measures may be added to the table later
}

// merging returns the settings of the table that say how the server merges its parts.
func (t *Table) merging() []setting {
	if t.patient {
		return []setting{sixteen, unanalysed}
	}
	return []setting{unanalysed}
}

// unanalysed is a setting of every table: a merge computes statistics by default, which are larger
// than a small part, and which no query of weir needs.
var unanalysed = setting{"auto_statistics_types", "''"}

// sixteen is a setting of patient tables. By default five parts start a merge, which writes the parts
// of the last minutes once more, whatever their size. Other tables keep that: each flush asks weir_rollups
// for the round, which takes half as long again with fifteen parts.
var sixteen = setting{"merge_selector_base", "16"}

// synced are settings of every table, 1 with Config.Fsync: an insert is acknowledged when its part is on the
// disk. A row that speaks of other rows must not outlive them: a ledger line covers state rows, and the progress of a
// rollup its rows. So every table has them.
var synced = []string{"fsync_after_insert", "fsync_part_directory"}

// A setting is one of a table that can be changed later.
type setting struct{ name, value string }

func (s setting) String() string { return s.name + " = " + s.value }

// Create returns the statement that makes the table.
func (t *Table) Create(c *wire.DB) string {
	var b strings.Builder
	fmt.Fprintf(&b, "CREATE TABLE IF NOT EXISTS %s%s\n(\n", c.Name(t.Name), c.OnCluster())
	for i, col := range t.Columns {
		if i > 0 {
			b.WriteString(",\n")
		}
		b.WriteString("    " + col.String())
	}
	for _, x := range t.indexes {
		b.WriteString(",\n    " + x)
	}
	engine := t.Engine
	if c.Config.Cluster != "" {
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
	if t.TTL != "" {
		fmt.Fprintf(&b, "TTL %s\n", t.TTL)
	}
	var settings []string
	if t.settings != "" {
		settings = append(settings, t.settings)
	}
	for _, m := range t.merging() {
		settings = append(settings, m.String())
	}
	settings = append(settings, unsynced(c, "")...)
	fmt.Fprintf(&b, "SETTINGS %s\n", strings.Join(settings, ", "))
	fmt.Fprintf(&b, "COMMENT %s", wire.Text(t.comment))
	return b.String()
}

// Addable reports whether a migration adds the column. That is so for the columns of
// measures, which are then empty in older windows.
func (t *Table) Addable(col Column) bool {
	return t.appends && !slices.Contains(reserved, col.Name) && !slices.Contains(t.order, col.Name) && !slices.Contains(t.order, wire.Quote(col.Name))
}

// Tune returns what the table has no setting of. A setting that the table has stays, because
// an administrator may have changed it; the settings of Config.Fsync do not.
func (t *Table) Tune(c *wire.DB, settings string) (changes []string) {
	for _, m := range t.merging() {
		if !strings.Contains(settings, m.name+" = ") {
			changes = append(changes, m.String())
		}
	}
	return append(changes, unsynced(c, settings)...)
}

// unsynced returns what a table has to set for it to be as Config.Fsync says, given its settings.
func unsynced(c *wire.DB, settings string) (changes []string) {
	for _, name := range synced {
		switch on := strings.Contains(settings, name+" = 1"); {
		case c.Config.Fsync && !on:
			changes = append(changes, name+" = 1")
		case on && !c.Config.Fsync:
			changes = append(changes, name+" = 0")
		}
	}
	return changes
}

const (
	UTC    = "DateTime('UTC')"
	millis = "DateTime64(3, 'UTC')"

	deadLetterDays = 30
)

// touched returns the column that says when a row was last written, by the server's
// clock. TTLs use it; no number that is counted or shown depends on it.
func touched(name string) Column {
	return Column{Name: name, Type: "SimpleAggregateFunction(max, " + UTC + ")", extra: "DEFAULT now()"}
}

func indexName(column string) string { return column + "_range" }

func touchedIndex(name string) string {
	return fmt.Sprintf("INDEX %s %s TYPE minmax GRANULARITY 1", indexName(name), name)
}

// stamped returns the column that says in which round (package rounds) a row was last written.
func stamped(name string) Column {
	return largest(name, "UInt64")
}

func largest(name, typ string) Column {
	return Column{Name: name, Type: "SimpleAggregateFunction(max, " + typ + ")"}
}

// EventColumns returns the columns of the ledger that have a line's window.Events: all, then by
// outcome.
func EventColumns() []string {
	names := []string{"events"}
	for f := range window.Gap {
		names = append(names, "events_"+f.String())
	}
	return names
}

// EventNumbers returns where a line has the numbers of eventColumns.
func EventNumbers(l *window.Line) []*uint64 {
	to := []*uint64{&l.Events.All}
	for f := range l.Events.By {
		to = append(to, &l.Events.By[f])
	}
	return to
}

// Storable returns the nearest time that a DateTime64 has, of the years 1900 to 2299. The time of a record may
// be any int64, and ClickHouse shows one beyond as some time within; JSON has none after the year 9999.
func Storable(t event.Time) event.Time {
	const first, last = -2_208_988_800_000, 10_413_791_999_999
	return min(max(t, first), last)
}

// TopicID parses the hexadecimal form of a topic's id.
func TopicID(text string) (id [16]byte, err error) {
	if _, err := hex.Decode(id[:], []byte(text)); err != nil {
		return id, fmt.Errorf("topic id %q: %w", text, err)
	}
	return id, nil
}

// LedgerTable is the name of the table with the outcomes of every offset.
const LedgerTable = "weir_ledger"

// Common returns the tables that all jobs share.
func Common() []Table {
	ledger := Table{
		Name: LedgerTable, Engine: "AggregatingMergeTree", patient: true,
		comment: "The outcomes of all offsets: one line for each chunk, all figures are maxima. Read it with FINAL.",
		Columns: []Column{
			{Name: "job", Type: "LowCardinality(String)"}, {Name: "version", Type: "UInt32"},
			{Name: "epoch", Type: "UInt8"}, {Name: "partition", Type: "UInt16"},
			{Name: "chunk", Type: "UInt64"}, {Name: "first", Type: "UInt64"},
			largest("next", "UInt64"),
		},
		indexes: []string{touchedIndex("flushed_at")},
		order:   []string{"job", "version", "epoch", "partition", "chunk", "first"},
	}
	for f := range window.Outcomes {
		ledger.Columns = append(ledger.Columns, largest(f.String(), "UInt64"))
	}
	for _, name := range EventColumns() {
		ledger.Columns = append(ledger.Columns, largest(name, "UInt64"))
	}
	ledger.Columns = append(ledger.Columns,
		Column{Name: "saved", Type: "SimpleAggregateFunction(max, String)", extra: "CODEC(ZSTD(1))"},
		largest("watermark", millis), largest("topic_id", "UUID"),
		touched("flushed_at"),
		Column{Name: "began", Type: "SimpleAggregateFunction(min, " + UTC + ")", extra: "DEFAULT now()"},
		Column{Name: "slot", Type: "UInt64", extra: "ALIAS bitOr(bitOr(bitShiftLeft(toUInt64(epoch), 56), bitShiftLeft(toUInt64(partition), 40)), chunk)"},
	)
	return []Table{
		{
			Name: "weir_schema", Engine: "MergeTree",
			comment: "Every statement that weir migrate has run.",
			Columns: []Column{
				{Name: "applied_at", Type: millis, extra: "DEFAULT now64(3)"}, {Name: "object", Type: "String"}, {Name: "sql", Type: "String"},
			},
			order: []string{"applied_at", "object"},
		},
		{
			Name: "weir_jobs", Engine: "MergeTree",
			comment: "What each version of a job means, once for the job and once for each measure. The earliest row is valid.",
			Columns: []Column{
				{Name: "job", Type: "LowCardinality(String)"}, {Name: "version", Type: "UInt32"}, {Name: "measure", Type: "String"},
				{Name: "meaning", Type: "String"}, {Name: "topic", Type: "String"}, {Name: "keep", Type: "UInt32"},
				{Name: "groups", Type: "Array(String)"}, {Name: "rollup", Type: "String"}, {Name: "seconds", Type: "UInt32"}, {Name: "bits", Type: "UInt64"},
				{Name: "created_at", Type: millis, extra: "DEFAULT now64(3)"},
			},
			order: []string{"job", "version", "measure", "created_at"},
		},
		ledger,
		{
			Name: "weir_dead_letters", Engine: "ReplacingMergeTree",
			comment: "Records that were not counted, with the reason. A payload of more than 16 KiB is cut: payload_bytes says how long it was. A repeated row is equal to the first: read it with FINAL.",
			Columns: []Column{
				{Name: "job", Type: "LowCardinality(String)"}, {Name: "version", Type: "UInt32"},
				{Name: "epoch", Type: "UInt8"}, {Name: "partition", Type: "UInt16"}, {Name: "offset", Type: "UInt64"},
				{Name: "topic", Type: "LowCardinality(String)"}, {Name: "outcome", Type: "LowCardinality(String)"}, {Name: "reason", Type: "String"},
				{Name: "record_time", Type: millis}, {Name: "payload", Type: "String", extra: "CODEC(ZSTD(1))"},
				{Name: "payload_bytes", Type: "UInt64"},
				{Name: "flushed_at", Type: UTC, extra: "DEFAULT now()"},
			},
			order: []string{"job", "version", "epoch", "partition", "offset"},
			TTL:   "flushed_at + toIntervalDay(" + strconv.Itoa(deadLetterDays) + ")",
		},
		{
			Name: "weir_rollups", Engine: "AggregatingMergeTree",
			comment: "The current round of each job (the greatest opened), and how far each rollup is: it may lack rows of round done and later; windows that end by complete_until are complete.",
			Columns: []Column{
				{Name: "job", Type: "LowCardinality(String)"}, {Name: "version", Type: "UInt32"}, {Name: "rollup", Type: "UInt32"},
				largest("opened", "UInt64"), largest("done", "UInt64"), largest("complete_until", millis),
			},
			order: []string{"job", "version", "rollup"},
		},
	}
}

// Flushed is the type of a column of the first rollup: of how many events whole rows had that gave their numbers, at most,
// and which measures.
const Flushed = "Tuple(hits UInt64, measures UInt64)"

// levelComment begins the comment of the table of a rollup. The length of its windows follows, by
// which a table is known that was exchanged with another one.
const levelComment = "Finished numbers of windows of "

// TablesOf returns the tables of weir and of jobs.
func TablesOf(layouts []*Layout) []Table {
	all := Common()
	for _, l := range layouts {
		all = append(all, l.Tables()...)
	}
	return all
}

// Tables returns the job's own tables.
func (l *Layout) Tables() []Table {
	start := Column{Name: "window_start", Type: UTC}

	state := Table{
		Name: l.StateTable(), Engine: "AggregatingMergeTree", patient: true, appends: true,
		comment:   "What weir writes: counts by slot and sketch states, by window and group. Rows with equal keys merge.",
		Columns:   append(slices.Clone(l.By), start, Column{Name: "hits", Type: "SimpleAggregateFunction(maxMap, Map(UInt64, UInt64))"}),
		indexes:   []string{touchedIndex("flushed_at"), touchedIndex("flushed_in")},
		partition: "toYYYYMMDD(window_start)",
		order:     append([]string{"window_start"}, l.Keys()...),
		TTL:       expiry("flushed_at", l.Keep),
		// ClickHouse reads at least a granule, which has some eighty dense sketches.
		settings: "index_granularity = 1024, index_granularity_bytes = 1048576, ttl_only_drop_parts = 1",
	}
	for m := range l.Counted {
		state.Columns = append(state.Columns, m.states(m.Name, m.SQL.State, "", "")...)
	}
	state.Columns = append(state.Columns, touched("flushed_at"), stamped("flushed_in"))
	all := []Table{state}

	for m := range l.Located {
		all = append(all, l.placesTableOf(m))
	}

	for i, v := range l.Levels {
		t := Table{
			Name: v.Table, Engine: "AggregatingMergeTree", appends: true,
			comment:   levelComment + Span(v.Window) + ".",
			Columns:   append(slices.Clone(l.By), start, largest("hits", "UInt64")),
			indexes:   []string{touchedIndex("rolled_at"), touchedIndex("rolled_in")},
			partition: "toYYYYMM(window_start)",
			order:     append(l.Keys(), "window_start"),
			settings:  "index_granularity_bytes = 4194304",
		}
		switch {
		case v.Window < time.Hour:
			t.partition = "toYYYYMMDD(window_start)"
		case v.Window >= 24*time.Hour:
			t.partition = "toYear(window_start)"
		}
		if v.Seconds*1000 == int64(l.Spec.Window) {
			t.Columns = append(t.Columns, largest("flushed", Flushed))
		}
		if v.Keep > 0 {
			// It begins when a row was last made, and not with its window: of a backfill, whose windows
			// are older, ClickHouse would not even store the rows that longer rollups are made from.
			t.TTL = expiry("rolled_at", v.Keep)
		}
		for m := range l.Counted {
			if m.Additive() {
				continue
			}
			numbers := m.numbers()
			if m.SQL.Expires {
				numbers.ttl = v.forget(m)
			}
			t.Columns = append(t.Columns, numbers)
		}
		for _, m := range (LevelData{Layout: l, First: i == 0}).Stated() {
			t.Columns = append(t.Columns, m.states(m.Name+"_state", cmp.Or(m.SQL.PackedType, m.SQL.State), m.SQL.Unpacked, v.forget(m))...)
		}
		t.Columns = append(t.Columns, touched("rolled_at"), stamped("rolled_in"))
		all = append(all, t)
	}
	return all
}

// forget returns the TTL of a measure's states in the level's rows; empty if they live as
// long as the rows. The TTL begins when a row was last made, and not with its window: so
// the states of a backfill make longer rollups, too.
func (v *Level) forget(m *Measure) string {
	if !m.Expires() || v.KeepStates == 0 || v.Keep > 0 && v.Keep <= v.KeepStates {
		return ""
	}
	return expiry("rolled_at", v.KeepStates)
}

// Lost returns a condition that rows of the level that were made at a time have lost their states of measures that
// Expire.
func (v *Level) Lost(made string) string {
	if v.KeepStates == 0 {
		return "0"
	}
	return fmt.Sprintf("%s <= now('UTC') - %d", made, int64(v.KeepStates/time.Second))
}

// Keys returns the names of the group columns, quoted.
func (l *Layout) Keys() []string {
	var names []string
	for _, c := range l.By {
		names = append(names, wire.Quote(c.Name))
	}
	return names
}

// expiry returns a TTL as ClickHouse prints it back.
func expiry(column string, keep time.Duration) string {
	return fmt.Sprintf("%s + toIntervalSecond(%d)", column, int64(keep/time.Second))
}

// placesTableOf returns the table of a geo measure.
func (l *Layout) placesTableOf(m *Measure) Table {
	start := Column{Name: "window_start", Type: UTC}
	return Table{
		Name: l.PlacesTable(m), Engine: "AggregatingMergeTree", patient: true,
		comment: "The last position of each member in each window: the greatest (time, slot, offset) stays.",
		Columns: []Column{
			start, {Name: "member", Type: "String", extra: "CODEC(ZSTD(1))"},
			{Name: "last", Type: "SimpleAggregateFunction(max, Tuple(ts " + millis + ", slot UInt64, off UInt64, score UInt64))", extra: "CODEC(ZSTD(1))"},
			touched("flushed_at"),
		},
		indexes:   []string{touchedIndex("flushed_at")},
		partition: "toYYYYMMDD(window_start)",
		order:     []string{"window_start", "member"},
		TTL:       expiry("flushed_at", l.Keep),
		settings:  "ttl_only_drop_parts = 1",
	}
}
