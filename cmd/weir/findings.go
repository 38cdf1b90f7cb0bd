package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"weir/audit"
	"weir/internal/config"
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
	{kind: audit.Unbalanced, back: chunkBegins,
		what: "{chunk}: the ledger line spans {expected} offsets, but its outcomes sum up to {found} {offsets}",
		do:   lineChanged},
	{kind: audit.Outside, back: chunkBegins,
		what: "{chunk}: the ledger line reaches beyond its chunk {offsets}",
		do:   lineChanged},
	{kind: audit.Uneven, back: chunkBegins,
		what: "{chunk}: the events of the ledger line, {expected} in all and {found} of them counted, do not add up, or do not go with the records that were counted {offsets}",
		do:   lineChanged},
	{kind: audit.Hole, back: ledgerEnds,
		what: "{chunk}: the ledger continues at offset {found}, but the lines before end at {expected} {offsets}",
		do:   "a ledger line is gone: set the group's offset of the partition back to where the ledger ends and restart weir, if Kafka still has it; otherwise the line can only be restored from a backup"},
	{kind: audit.Missing, back: chunkBegins,
		what: "{chunk}: {expected} events were counted, the rows hold {found} {offsets}",
		do:   "on a replica that lags, ask again when it has caught up. Otherwise state rows are gone: set the group's offset of the partition back to the beginning of the chunk and restart weir, if Kafka still has it; the rollups keep what they have"},
	{kind: audit.Excess, when: opened, back: chunkBegins,
		what: "{chunk}: the rows hold {found} events, and the ledger covers no offset of the chunk, which was begun at {from}, but later ones {offsets}",
		do: "a ledger line is gone, or weir was killed before it wrote the line, and the log lost these records before weir was started again: set the group's offset of the partition back to where the chunk was begun and restart weir, if Kafka still has it; " +
			"otherwise the line can only be restored from a backup"},
	{kind: audit.Excess,
		what: "{chunk}: at most {expected} events were counted, the rows hold {found} {offsets}",
		do:   "if weir was killed and not started since, start it: it finishes the interrupted flush. Otherwise state rows were changed by hand: restore them from a backup"},
	{kind: audit.Unknown, back: chunkBegins,
		what: "{chunk}: the rows hold {found} events, the ledger has no line of the chunk {offsets}",
		do:   "if weir was killed and not started since, start it: it finishes the interrupted flush; on a replica that lags, ask again when it has caught up. Otherwise a ledger line is gone: set the group's offset back to the beginning of the chunk and restart weir"},
	{kind: audit.Lost, when: ofMeasure,
		what: "{window}: measure {measure} is {expected} in its {length} rollup, and {found} by the rows",
		do: "on a replica that lags, ask again when it has caught up. Otherwise states were changed by hand, those that the rollup is made from or its own. Set the group's offset of the partitions back to before the window and restart weir, if Kafka still has it: that raises what is too small and changes nothing that is right. " +
			"Only if it says the same after that are the rollup's too large: delete its rows of the window and run `weir repair`"},
	{kind: audit.Lost,
		what: "{window}: its {length} rollup counts {expected} events, the rows hold {found}",
		do: "on a replica that lags, ask again when it has caught up. Otherwise, if chunks have rows missing as well, see the remedy for these; the rollup keeps what it has. If no chunk has, rows of the rollup were changed by hand, or rows of the shorter rollup that it is made from are gone: " +
			"then run `weir repair`; rows that were raised by hand have to be deleted first"},
	{kind: audit.Behind, when: ofMeasure,
		what: "{window}: measure {measure} is {expected} by the rows, and {found} in its {length} rollup",
		do:   rollupBehind + ". If it says the same after that, the rollup's state was changed by hand to one that outweighs the right one: delete its rows of the window and run `weir repair` again"},
	{kind: audit.Behind,
		what: "{window}: the rows hold {expected} events, its {length} rollup counts {found}",
		do:   rollupBehind},
	{kind: audit.Beyond,
		what: "{partition}: the ledger reaches to {expected}, the log only to {found}; the ledger covers {span} of the log's offsets",
		do: "if the topic was deleted and created again, run once with --new-epoch; if it was truncated, that would count records at those offsets twice, up to {span}, " +
			"and raising the job's version counts what is left once, in new tables"},
	{kind: audit.Deleted,
		what: "{partition}: offsets {from} to {to} were deleted from the log before they were counted",
		do:   "records that were deleted from the log cannot be counted any more; with kafka.on_data_loss: skip, weir run records the gap and continues"},
	{kind: audit.Beginning, back: chunkBegins,
		what: "{partition}: the ledger begins at {found}, and offsets {from} to {to} of the log have no outcome",
		do: "the beginning of the ledger is gone, perhaps with the rows, as after tables were truncated while weir ran: set the group's offset of the partition back to where the log begins and restart weir, which counts what is missing; " +
			"what is counted already stays as it is"},
	{kind: audit.Vanished,
		what: "{partition}: the ledger reaches to {expected}, the topic has no such partition",
		do:   "the topic was deleted and created again with fewer partitions: run once with --new-epoch"},
	{kind: audit.Recreated,
		what: "{partition}: the topic was deleted and created again: the ledger reaches to {expected} of the old one, and nothing of the new one is counted, whose log ends at {found}",
		do:   "run once with --new-epoch: it counts the new topic, beside what was counted of the old one"},
	{kind: audit.Ahead,
		what: "{found} chunks and {expected} windows of rollups do not add up, and are not judged: rows or ledger lines of them were written up to {by} after the server's present, so nothing says whether a flush is just writing them",
		do:   "the clock of a ClickHouse server stepped back, or is behind that of another replica: correct it. If weir is stopped, or a second `weir verify` says the same, rows are missing or in excess; once the clock has passed that time, it says which"},
	{kind: audit.Clipped, when: readTwice,
		what: "{chunk}: at most {expected} events were counted, the rows hold {found}, so up to {less} are missing: offsets up to {reach} were counted, those below {cut} were deleted from the log before the chunk ended, and the rest was read again from there; " +
			"rows with events from below {cut} and from {reach} on keep the greater count of the two readings {offsets}",
		do: chunkCut},
	{kind: audit.Clipped,
		what: "{chunk}: {expected} events were counted, the rows hold {found}: records were deleted from the log inside this chunk, and rows with events from both sides of the cut keep the greater count {offsets}",
		do:   chunkCut},
	{kind: audit.Twice,
		what: "{partition}: offsets {from} to {to} of the topic were counted before, under an earlier epoch, and again under this one (weir run --new-epoch after the log was truncated): up to {found} events are counted twice",
		do:   "these tables keep the events that are counted twice. To count each record that is still in the log once, raise the job's version: it begins new tables, and those of this version stay"},
	{kind: audit.Short,
		what: "{less} events that were counted are in no view: they are of windows whose state rows have expired",
		do: "state rows expired before weir rolled them up, or before the rest of their windows was counted, because weir was stopped or could not read for longer than keep; or windows of the rollups were deleted by hand. The ledger has what was counted of which offsets. " +
			"What the log still holds can be counted again, under a higher version of the job. Choose a keep that is longer than the longest stop"},
}

const (
	// ofSomeGroup takes the place of the sentence about a window where http.k withholds groups.
	ofSomeGroup = "a window from {start}: for a group, its {length} rollup and the rows do not add up; http.k withholds which group and by how much: the log and `weir verify` say it"

	lineChanged  = "the line was changed by hand: restore {ledger}, or set the group's offset of the partition back before the chunk and restart weir, if Kafka still has it"
	rollupBehind = "rows of the rollup are gone, were never made, or hold less than they did: run `weir repair`, which makes them again from the rows below; a running weir does so by itself with its next audit. If weir was killed and not started since, start it"
	chunkCut     = "this chunk cannot be counted any better. Let the topic keep records (retention.ms) for longer than lateness + skew and than a chunk takes to fill, and delete none by hand above the last chunk that is counted to its end"

	// compactedAway is the remedy for a finding that a compacted topic explains.
	compactedAway = "records were compacted away (cleanup.policy) between two readings of the chunk. Each row keeps the greater count of the two, and reading again finds no more: do not restore anything or set offsets back. " +
		"Set cleanup.policy=delete for a topic that is counted; raise the job's version to count once what the log still holds"
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
