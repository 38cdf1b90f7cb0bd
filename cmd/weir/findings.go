package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"weir/audit"
	"weir/config"
	"weir/event"
	"weir/sinks/clickhouse/schema"
)

// A message is the sentence for a class of findings, and the remedy. fill replaces the
// names in braces by values of the finding.
type message struct {
	what string
	do   string
	// back is the offset from which reading the partition again mends it; nil if
	// that does not help.
	back func(audit.Finding) int64
}

// messages are the sentences of weir verify, of the hourly audit's lines in the log, and of the
// status. Records that are still in the log count to the same numbers whenever weir reads them
// again: this is the remedy for most damage.
var messages = [audit.Classes]message{
	audit.Unbalanced: {back: chunkBegins, do: lineChanged.do,
		what: "{chunk}: the ledger line spans {expected} offsets, but its outcomes sum up to {found} {offsets}"},
	audit.Outside: lineChanged, audit.Uneven: lineChanged,
	audit.Hole: {back: func(f audit.Finding) int64 { return int64(f.Expected) }, do: "a ledger line is gone: " + readAgain,
		what: "{chunk}: the ledger continues at offset {found}, but the lines before end at {expected} {offsets}"},
	audit.Missing: {back: chunkBegins, do: "state rows are gone, or a replica lags: ask again when it has caught up, or " + readAgain,
		what: "{chunk}: {expected} events were counted, the rows hold {found} {offsets}"},
	audit.Excess: {back: func(f audit.Finding) int64 {
		if f.Opened {
			return f.Offsets.First
		}
		return never
	}, do: "weir was killed and not started since, a ledger line is gone, or state rows were changed by hand: start it, or " + readAgain,
		what: "{chunk}: at most {expected} events were counted, the rows hold {found} {offsets}"},
	audit.Unknown: {back: chunkBegins, do: "weir was killed and not started since, a replica lags, or a ledger line is gone: start it and ask again, or " + readAgain,
		what: "{chunk}: the rows hold {found} events, the ledger has no line of the chunk {offsets}"},
	audit.Lost: {do: "a replica lags, or rows were changed by hand: ask again when it has caught up, do first what chunks with missing rows ask for, or delete the rollup's rows of the window and run `weir repair`",
		what: "{window}: {measure} is {expected} in its {length} rollup, and {found} by the rows"},
	audit.Behind: {do: "rows of the rollup are gone, were never made, or hold less than they did: run `weir repair`, which makes them again from the rows below (a running weir does so by itself with its next audit); " +
		"if it says the same after that, delete the rollup's rows of the window and run it again",
		what: "{window}: {measure} is {expected} by the rows, and {found} in its {length} rollup"},
	audit.Beyond: {do: "the topic was deleted and created again, or truncated: run once with --new-epoch, which after a truncation counts up to {span} records twice (a higher version of the job counts what is left once)",
		what: "{partition}: the ledger reaches to {expected}, the log only to {found}; the ledger covers {span} of the log's offsets"},
	audit.Deleted: {do: "records that were deleted from the log cannot be counted any more: set kafka.on_data_loss: skip, with which weir run records the gap and continues",
		what: "{partition}: offsets {from} to {to} were deleted from the log before they were counted"},
	audit.Beginning: {back: chunkBegins, do: "the beginning of the ledger is gone, perhaps with the rows: set the group's offset of the partition back to where the log begins and restart weir, which counts what is missing",
		what: "{partition}: the ledger begins at {found}, and offsets {from} to {to} of the log have no outcome"},
	audit.Vanished: {do: "the topic was deleted and created again with fewer partitions: run once with --new-epoch",
		what: "{partition}: the ledger reaches to {expected}, the topic has no such partition"},
	audit.Recreated: {do: "the topic was deleted and created again: run once with --new-epoch, which counts the new topic beside what was counted of the old one",
		what: "{partition}: the topic was deleted and created again: the ledger reaches to {expected} of the old one, and nothing of the new one is counted, whose log ends at {found}"},
	audit.Ahead: {do: "the clock of a ClickHouse server stepped back, or is behind that of another replica: correct it, and run `weir verify` again once it has passed that time",
		what: "{found} chunks and {expected} windows of rollups do not add up, and are not judged: rows or ledger lines of them were written up to {by} after the server's present, so nothing says whether a flush is just writing them"},
	audit.Clipped: {do: "this chunk cannot be counted any better: let the topic keep records (retention.ms) for longer than lateness + skew and than a chunk takes to fill",
		what: "{chunk}: up to {expected} events were counted, the rows hold {found}, so up to {less} are missing: records were deleted from the log inside this chunk, and rows with events from both sides of the cut keep the greater count {offsets}"},
	audit.Twice: {do: "these tables keep the events that are counted twice: raise the job's version to count each record that is still in the log once, in new tables",
		what: "{partition}: offsets {from} to {to} of the topic were counted before, under an earlier epoch, and again under this one (weir run --new-epoch after the log was truncated): up to {found} events are counted twice"},
	audit.Short: {do: "state rows expired before weir rolled them up, or windows of the rollups were deleted by hand: choose a keep that is longer than the longest stop, and raise the job's version to count again what the log still holds",
		what: "{less} events that were counted are in no view: they are of windows whose state rows have expired"},
}

// never is the offset to read again from where that does not help.
const never = -1

// lineChanged is the message of a ledger line that contradicts itself.
var lineChanged = message{back: chunkBegins, do: "the line was changed by hand: restore {ledger}, or " + readAgain,
	what: "{chunk}: the ledger line contradicts itself, or reaches beyond its chunk: {expected} and {found} {offsets}"}

const (
	// ofSomeGroup takes the place of the sentence about a window where http.k withholds groups.
	ofSomeGroup = "a window from {start}: for a group, its {length} rollup and the rows do not add up; http.k withholds which group and by how much: the log and `weir verify` say it"

	readAgain = "set the group's offset of the partition back before the damage and restart weir, if Kafka still has it; otherwise restore from a backup"

	// compactedAway is the remedy for a finding that a compacted topic explains.
	compactedAway = "records were compacted away (cleanup.policy) between two readings of the chunk, and reading again finds no more: set cleanup.policy=delete for a topic that is counted, and raise the job's version to count once what the log still holds"
)

func chunkBegins(f audit.Finding) int64 { return f.Offsets.First }

// fill replaces the names in braces.
func fill(text string, f audit.Finding) string {
	partition, epoch := fmt.Sprintf("partition %d", f.Partition), ""
	if f.Epoch > 0 {
		epoch = fmt.Sprintf(" (epoch %d)", f.Epoch)
	}
	measure := "the number of events"
	if f.Measure != "" {
		measure = "measure " + f.Measure
	}
	shown := func(n uint64) string { return strconv.FormatUint(n, 10) }
	if f.Of != nil {
		shown = f.Of.Text
	}
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	return strings.NewReplacer(
		"{partition}", partition+epoch,
		"{chunk}", fmt.Sprintf("%s, chunk %d%s", partition, f.Chunk, epoch),
		"{offsets}", fmt.Sprintf("(offsets %d to %d)", f.Offsets.First, f.Offsets.Next),
		"{from}", number(f.Offsets.First), "{to}", number(f.Offsets.Next), "{span}", number(max(0, f.Offsets.Next-f.Offsets.First)),
		"{window}", fmt.Sprintf("window %s, group %q", time.UnixMilli(int64(f.Window)).UTC().Format(time.RFC3339), f.Group),
		"{start}", time.UnixMilli(int64(f.Window)).UTC().Format(time.RFC3339),
		"{length}", config.Duration(time.Duration(f.Length)*time.Millisecond).String(),
		"{measure}", measure, "{by}", (time.Duration(f.By) * time.Millisecond).String(),
		"{expected}", shown(f.Expected), "{found}", shown(f.Found), "{less}", strconv.FormatUint(f.Expected-f.Found, 10),
		"{ledger}", schema.LedgerTable,
	).Replace(text)
}

// sentence says what does not add up in a finding.
func sentence(f audit.Finding) string { return fill(messages[f.Class].what, f) }

// advice returns the remedy for a finding.
func advice(f audit.Finding) string {
	text := fill(messages[f.Class].do, f)
	if f.Thinned() {
		return "if the topic is compacted: " + compactedAway + ". If it is not: " + text
	}
	return text
}

// A remedy collects the ways to mend an audit's findings: an explanation for each
// class, once, and the offsets from which to read again the records that are still in
// the log.
type remedy struct {
	advice []string
	back   map[counted]int64 // the lowest offset from which to read again
}

// counted is what an epoch counts of a partition.
type counted struct {
	partition int32
	epoch     uint8
}

func (r *remedy) take(f audit.Finding) {
	if a := advice(f); !slices.Contains(r.advice, a) {
		r.advice = append(r.advice, a)
	}
	back := messages[f.Class].back
	if back == nil || back(f) == never {
		return
	}
	if r.back == nil {
		r.back = map[counted]int64{}
	}
	of := counted{f.Partition, f.Epoch}
	if old, ok := r.back[of]; !ok || back(f) < old {
		r.back[of] = back(f)
	}
}

// print writes what to do, with the commands for it; reset begins the one that sets offsets back. log has the partitions as
// Kafka has them; current reports whether one of them is what an epoch counts.
func (r *remedy) print(w io.Writer, reset, topic string, log []event.Assignment, current func(epoch uint8, of event.Assignment) bool) {
	for _, a := range r.advice {
		fmt.Fprintf(w, "  %s\n", a)
	}
	for _, of := range slices.SortedFunc(maps.Keys(r.back), func(a, b counted) int {
		return cmp.Or(cmp.Compare(a.partition, b.partition), cmp.Compare(a.epoch, b.epoch))
	}) {
		offset := r.back[of]
		at := slices.IndexFunc(log, func(a event.Assignment) bool { return a.Partition == of.partition })
		if at < 0 || offset < log[at].LogStart || !current(of.epoch, log[at]) {
			fmt.Fprintf(w, "  partition %d cannot be read again from %d: the log does not hold what was counted any more\n", of.partition, offset)
			continue
		}
		fmt.Fprintf(w, "  to set its offset back, with every weir of the group stopped: %s --topic %s:%d --reset-offsets --to-offset %d --execute\n", reset, topic, of.partition, offset)
	}
}
