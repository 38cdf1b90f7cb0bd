package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"weir/audit"
	"weir/config"
	"weir/sinks/clickhouse"
)

// A message is the sentence for a kind of finding, and the remedy. fill replaces the
// names in braces by values of the finding.
type message struct {
	kind audit.Kind
	when func(audit.Finding) bool // nil: always. The first message of the kind that fits is used
	what string
	do   string
	// back is the offset from which reading the partition again mends it; nil if
	// that does not help.
	back func(audit.Finding) int64
}

// messages are the sentences of weir verify, of the hourly audit's lines in the log,
// and of the status. weir counts what is still in the log to the same numbers
// whenever it reads it again, so the remedy for most damage is to read it again.
var messages = []message{
	{kind: audit.Unbalanced, back: chunkBegins, do: lineChanged,
		what: "{chunk}: the ledger line spans {expected} offsets, but its outcomes sum up to {found} {offsets}"},
	{kind: audit.Outside, back: chunkBegins, do: lineChanged,
		what: "{chunk}: the ledger line reaches beyond its chunk {offsets}"},
	{kind: audit.Uneven, back: chunkBegins, do: lineChanged,
		what: "{chunk}: the events of the ledger line, {expected} in all and {found} of them counted, do not add up, or do not go with the records that were counted {offsets}"},
	{kind: audit.Hole, back: ledgerEnds, do: "a ledger line is gone: " + readAgain,
		what: "{chunk}: the ledger continues at offset {found}, but the lines before end at {expected} {offsets}"},
	{kind: audit.Missing, back: chunkBegins, do: "state rows are gone, or a replica lags: ask again when it has caught up, or " + readAgain,
		what: "{chunk}: {expected} events were counted, the rows hold {found} {offsets}"},
	{kind: audit.Excess, when: opened, back: chunkBegins, do: "a ledger line is gone, or the log lost records while weir was stopped: " + readAgain,
		what: "{chunk}: the rows hold {found} events, and the ledger covers no offset of the chunk, which was begun at {from}, but later ones {offsets}"},
	{kind: audit.Excess, do: "weir was killed and not started since, or state rows were changed by hand: start it, or restore the rows from a backup",
		what: "{chunk}: at most {expected} events were counted, the rows hold {found} {offsets}"},
	{kind: audit.Unknown, back: chunkBegins, do: "weir was killed and not started since, a replica lags, or a ledger line is gone: start it and ask again, or " + readAgain,
		what: "{chunk}: the rows hold {found} events, the ledger has no line of the chunk {offsets}"},
	{kind: audit.Lost, when: ofMeasure, do: "a replica lags, or states were changed by hand: ask again when it has caught up, or read the partitions again from before the window, or delete the rollup's rows of the window and run `weir repair`",
		what: "{window}: measure {measure} is {expected} in its {length} rollup, and {found} by the rows"},
	{kind: audit.Lost, do: "a replica lags, or rows of a rollup were changed by hand: ask again when it has caught up, do first what chunks with missing rows ask for, or run `weir repair` (rows that were raised by hand have to be deleted first)",
		what: "{window}: its {length} rollup counts {expected} events, the rows hold {found}"},
	{kind: audit.Behind, when: ofMeasure, do: rollupBehind + ", and if it says the same after that, delete the rollup's rows of the window and run it again",
		what: "{window}: measure {measure} is {expected} by the rows, and {found} in its {length} rollup"},
	{kind: audit.Behind, do: rollupBehind,
		what: "{window}: the rows hold {expected} events, its {length} rollup counts {found}"},
	{kind: audit.Beyond, do: "the topic was deleted and created again, or truncated: run once with --new-epoch, which after a truncation counts up to {span} records twice (a higher version of the job counts what is left once)",
		what: "{partition}: the ledger reaches to {expected}, the log only to {found}; the ledger covers {span} of the log's offsets"},
	{kind: audit.Deleted, do: "records that were deleted from the log cannot be counted any more: set kafka.on_data_loss: skip, with which weir run records the gap and continues",
		what: "{partition}: offsets {from} to {to} were deleted from the log before they were counted"},
	{kind: audit.Beginning, back: chunkBegins, do: "the beginning of the ledger is gone, perhaps with the rows: set the group's offset of the partition back to where the log begins and restart weir, which counts what is missing",
		what: "{partition}: the ledger begins at {found}, and offsets {from} to {to} of the log have no outcome"},
	{kind: audit.Vanished, do: "the topic was deleted and created again with fewer partitions: run once with --new-epoch",
		what: "{partition}: the ledger reaches to {expected}, the topic has no such partition"},
	{kind: audit.Recreated, do: "the topic was deleted and created again: run once with --new-epoch, which counts the new topic beside what was counted of the old one",
		what: "{partition}: the topic was deleted and created again: the ledger reaches to {expected} of the old one, and nothing of the new one is counted, whose log ends at {found}"},
	{kind: audit.Ahead, do: "the clock of a ClickHouse server stepped back, or is behind that of another replica: correct it, and run `weir verify` again once it has passed that time",
		what: "{found} chunks and {expected} windows of rollups do not add up, and are not judged: rows or ledger lines of them were written up to {by} after the server's present, so nothing says whether a flush is just writing them"},
	{kind: audit.Clipped, when: readTwice, do: chunkCut,
		what: "{chunk}: at most {expected} events were counted, the rows hold {found}, so up to {less} are missing: offsets up to {reach} were counted, those below {cut} were deleted from the log before the chunk ended, and the rest was read again from there; " +
			"rows with events from below {cut} and from {reach} on keep the greater count of the two readings {offsets}"},
	{kind: audit.Clipped, do: chunkCut,
		what: "{chunk}: {expected} events were counted, the rows hold {found}: records were deleted from the log inside this chunk, and rows with events from both sides of the cut keep the greater count {offsets}"},
	{kind: audit.Twice, do: "these tables keep the events that are counted twice: raise the job's version to count each record that is still in the log once, in new tables",
		what: "{partition}: offsets {from} to {to} of the topic were counted before, under an earlier epoch, and again under this one (weir run --new-epoch after the log was truncated): up to {found} events are counted twice"},
	{kind: audit.Short, do: "state rows expired before weir rolled them up, or windows of the rollups were deleted by hand: choose a keep that is longer than the longest stop, and raise the job's version to count again what the log still holds",
		what: "{less} events that were counted are in no view: they are of windows whose state rows have expired"},
}

const (
	// ofSomeGroup takes the place of the sentence about a window where http.k withholds groups.
	ofSomeGroup = "a window from {start}: for a group, its {length} rollup and the rows do not add up; http.k withholds which group and by how much: the log and `weir verify` say it"

	readAgain    = "set the group's offset of the partition back before the damage and restart weir, if Kafka still has it; otherwise restore from a backup"
	lineChanged  = "the line was changed by hand: restore {ledger}, or set the group's offset of the partition back before the chunk and restart weir, if Kafka still has it"
	rollupBehind = "rows of the rollup are gone, were never made, or hold less than they did: run `weir repair`, which makes them again from the rows below (a running weir does so by itself with its next audit)"
	chunkCut     = "this chunk cannot be counted any better: let the topic keep records (retention.ms) for longer than lateness + skew and than a chunk takes to fill"

	// compactedAway is the remedy for a finding that a compacted topic explains.
	compactedAway = "records were compacted away (cleanup.policy) between two readings of the chunk, and reading again finds no more: set cleanup.policy=delete for a topic that is counted, and raise the job's version to count once what the log still holds"
)

func ofMeasure(f audit.Finding) bool    { return f.Measure != "" }
func opened(f audit.Finding) bool       { return f.Opened }
func readTwice(f audit.Finding) bool    { return !f.Both.Empty() }
func chunkBegins(f audit.Finding) int64 { return f.Offsets.First }
func ledgerEnds(f audit.Finding) int64  { return int64(f.Expected) }

// messageOf returns the message for a finding.
func messageOf(f audit.Finding) message {
	for _, s := range messages {
		if s.kind == f.Kind && (s.when == nil || s.when(f)) {
			return s
		}
	}
	panic(fmt.Sprintf("messages has no entry for %v", f.Kind))
}

// fill replaces the names in braces.
func fill(text string, f audit.Finding) string {
	partition, epoch := fmt.Sprintf("partition %d", f.Partition), ""
	if f.Epoch > 0 {
		epoch = fmt.Sprintf(" (epoch %d)", f.Epoch)
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
		"{measure}", f.Measure, "{by}", (time.Duration(f.By) * time.Millisecond).String(),
		"{expected}", shown(f.Expected), "{found}", shown(f.Found), "{less}", strconv.FormatUint(f.Expected-f.Found, 10),
		"{cut}", number(f.Both.First), "{reach}", number(f.Both.Next),
		"{ledger}", clickhouse.LedgerTable,
	).Replace(text)
}

// sentence says what does not add up in a finding.
func sentence(f audit.Finding) string { return fill(messageOf(f).what, f) }

// compaction is what is known about whether a job's topic is compacted.
type compaction uint8

const (
	perhapsCompacted compaction = iota
	notCompacted
	isCompacted
)

// explains reports whether the topic's compaction explains a finding for sure.
func (c compaction) explains(f audit.Finding) bool { return c == isCompacted && f.Thinned() }

// advice returns the remedy for a finding.
func advice(f audit.Finding, c compaction) string {
	text := fill(messageOf(f).do, f)
	switch {
	case c.explains(f):
		return compactedAway
	case c == perhapsCompacted && f.Thinned():
		return "if the topic is compacted: " + compactedAway + ". If it is not: " + text
	}
	return text
}
