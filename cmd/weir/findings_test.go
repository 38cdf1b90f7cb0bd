package main

import (
	"strings"
	"testing"

	"weir/audit"
	"weir/window"
)

// TestFindingsInWords: the sentence and the remedy of each kind of finding.
func TestFindingsInWords(t *testing.T) {
	chunk := func(k audit.Kind, expected, found uint64) audit.Finding {
		return audit.Finding{Kind: k, Job: "clicks", Topic: "web", Partition: 1, Chunk: 5, Offsets: audit.Offsets{First: 500, Next: 600}, Expected: expected, Found: found}
	}
	cut := func(first, next int64, f audit.Finding) audit.Finding {
		f.Both = audit.Offsets{First: first, Next: next}
		return f
	}
	begun := func(first int64, f audit.Finding) audit.Finding {
		f.Opened, f.Offsets.First = true, first
		return f
	}
	window := func(k audit.Kind, measure string, expected, found uint64) audit.Finding {
		return audit.Finding{Kind: k, Job: "clicks", Topic: "web", Window: 1_760_000_400_000, Length: 3_600_000, Group: "/p {found} US", Measure: measure, Expected: expected, Found: found}
	}
	partition := func(k audit.Kind, first, next int64, expected, found uint64) audit.Finding {
		return audit.Finding{Kind: k, Job: "clicks", Topic: "web", Partition: 2, Epoch: 1, Offsets: audit.Offsets{First: first, Next: next}, Expected: expected, Found: found}
	}
	const at = `window 2025-10-09T09:00:00Z, group "/p {found} US": `
	used := map[int]bool{}
	for _, c := range []struct {
		f         audit.Finding
		want, do  string // the sentence, and a part of the remedy
		back      int64  // offset from which to read again; -1: none
		otherwise string // what the remedy must not say
	}{
		{chunk(audit.Unbalanced, 100, 101), "partition 1, chunk 5: the ledger line spans 100 offsets, but its outcomes sum up to 101 (offsets 500 to 600)", "restore weir_ledger", 500, "compact"},
		{chunk(audit.Outside, 101, 101), "partition 1, chunk 5: the ledger line reaches beyond its chunk (offsets 500 to 600)", "restore weir_ledger", 500, ""},
		{chunk(audit.Uneven, 36, 30), "partition 1, chunk 5: the events of the ledger line, 36 in all and 30 of them counted, do not add up, or do not go with the records that were counted (offsets 500 to 600)", "restore weir_ledger", 500, "compact"},
		{chunk(audit.Hole, 498, 501), "partition 1, chunk 5: the ledger continues at offset 501, but the lines before end at 498 (offsets 500 to 600)", "where the ledger ends", 498, ""},
		{chunk(audit.Missing, 99, 92), "partition 1, chunk 5: 99 events were counted, the rows hold 92 (offsets 500 to 600)", "on a replica that lags, ask again when it has caught up", 500, "compact"},
		{chunk(audit.Excess, 99, 100), "partition 1, chunk 5: at most 99 events were counted, the rows hold 100 (offsets 500 to 600)", "restore them from a backup", -1, "compact"},
		{begun(520, chunk(audit.Excess, 0, 80)), "partition 1, chunk 5: the rows hold 80 events, and the ledger covers no offset of the chunk, which was begun at 520, but later ones (offsets 520 to 600)", "back to where the chunk was begun", 520, "compact"},
		{chunk(audit.Unknown, 0, 92), "partition 1, chunk 5: the rows hold 92 events, the ledger has no line of the chunk (offsets 500 to 600)", "on a replica that lags, ask again when it has caught up", 500, ""},
		{window(audit.Lost, "", 4, 3), at + "its 1h rollup counts 4 events, the rows hold 3", "on a replica that lags, ask again when it has caught up", -1, ""},
		{window(audit.Lost, "users", 4, 3), at + "measure users is 4 in its 1h rollup, and 3 by the rows", "states were changed by hand", -1, ""},
		{window(audit.Behind, "", 4, 3), at + "the rows hold 4 events, its 1h rollup counts 3", "run `weir repair`", -1, ""},
		{window(audit.Behind, "users", 4, 3), at + "measure users is 4 by the rows, and 3 in its 1h rollup", "run `weir repair`", -1, ""},
		{partition(audit.Beyond, 100, 600, 1000, 600), "partition 2 (epoch 1): the ledger reaches to 1000, the log only to 600; the ledger covers 500 of the log's offsets", "that would count records at those offsets twice, up to 500", -1, ""},
		{partition(audit.Beyond, 700, 600, 1000, 600), "partition 2 (epoch 1): the ledger reaches to 1000, the log only to 600; the ledger covers 0 of the log's offsets", "run once with --new-epoch", -1, ""},
		{partition(audit.Deleted, 10, 40, 10, 40), "partition 2 (epoch 1): offsets 10 to 40 were deleted from the log before they were counted", "kafka.on_data_loss: skip", -1, ""},
		{partition(audit.Beginning, 10, 40, 10, 40), "partition 2 (epoch 1): the ledger begins at 40, and offsets 10 to 40 of the log have no outcome", "back to where the log begins", 10, ""},
		{partition(audit.Vanished, 0, 7, 7, 0), "partition 2 (epoch 1): the ledger reaches to 7, the topic has no such partition", "run once with --new-epoch", -1, ""},
		{partition(audit.Recreated, 0, 7, 7, 9), "partition 2 (epoch 1): the topic was deleted and created again: the ledger reaches to 7 of the old one, and nothing of the new one is counted, whose log ends at 9", "run once with --new-epoch", -1, ""},
		{audit.Finding{Kind: audit.Ahead, Job: "clicks", Topic: "web", Expected: 12, Found: 3, By: 7_201_000},
			"3 chunks and 12 windows of rollups do not add up, and are not judged: rows or ledger lines of them were written up to 2h0m1s after the server's present, so nothing says whether a flush is just writing them", "stepped back", -1, "compact"},
		{cut(520, 540, chunk(audit.Clipped, 50, 42)), "partition 1, chunk 5: at most 50 events were counted, the rows hold 42, so up to 8 are missing: offsets up to 540 were counted, those below 520 were deleted from the log before the chunk ended, and the rest was read again from there; " +
			"rows with events from below 520 and from 540 on keep the greater count of the two readings (offsets 500 to 600)", "retention.ms", -1, ""},
		{cut(560, 540, chunk(audit.Clipped, 70, 42)), "partition 1, chunk 5: 70 events were counted, the rows hold 42: records were deleted from the log inside this chunk, and rows with events from both sides of the cut keep the greater count (offsets 500 to 600)", "retention.ms", -1, ""},
		{partition(audit.Twice, 0, 130, 0, 120), "partition 2 (epoch 1): offsets 0 to 130 of the topic were counted before, under an earlier epoch, and again under this one (weir run --new-epoch after the log was truncated): up to 120 events are counted twice", "raise the job's version", -1, ""},
		{audit.Finding{Kind: audit.Short, Job: "clicks", Topic: "web", Expected: 120, Found: 50},
			"70 events that were counted are in no view: they are of windows whose state rows have expired", "Choose a keep", -1, ""},
	} {
		if got := sentence(c.f); got != c.want {
			t.Errorf("%v reads\n%s\nwant\n%s", c.f.Kind, got, c.want)
		}
		for _, topic := range []compaction{perhapsCompacted, notCompacted, isCompacted} {
			if got := advice(c.f, topic); !strings.Contains(got, c.do) || strings.ContainsAny(got, "{}") || c.otherwise != "" && strings.Contains(got, c.otherwise) {
				t.Errorf("%v: the advice is %q", c.f.Kind, got)
			}
		}
		back := int64(-1)
		if s := messageOf(c.f); s.back != nil {
			back = s.back(c.f)
		}
		if back != c.back {
			t.Errorf("%v: to be read again from %d, want %d", c.f.Kind, back, c.back)
		}
		for i, s := range messages {
			if s.what == messageOf(c.f).what {
				used[i] = true
			}
		}
	}
	for i, s := range messages {
		if !used[i] {
			t.Errorf("no case for %q", s.what)
		}
	}
	for k := range audit.Kinds {
		_ = messageOf(audit.Finding{Kind: k}) // panics if there is none
	}
}

// TestAdviceCompacted: if gaps explain a finding, the remedy depends on whether the topic is
// compacted.
func TestAdviceCompacted(t *testing.T) {
	const compacted, backup = "records were compacted away (cleanup.policy)", "from a backup"
	for _, c := range []struct {
		topic             compaction
		gaps              uint64
		compacted, backup bool
	}{
		{perhapsCompacted, 5, true, true}, {notCompacted, 5, false, true}, {isCompacted, 5, true, false},
		{perhapsCompacted, 4, false, true}, {notCompacted, 4, false, true}, {isCompacted, 4, false, true},
	} {
		got := advice(audit.Finding{Kind: audit.Excess, Expected: 90, Found: 95, Gaps: c.gaps}, c.topic)
		if strings.Contains(got, compacted) != c.compacted || strings.Contains(got, backup) != c.backup {
			t.Errorf("topic %d, %d gaps: %s", c.topic, c.gaps, got)
		}
	}
}

// TestMeasuredNumbers: a measure's number is printed as its kind formats it.
func TestMeasuredNumbers(t *testing.T) {
	m := window.Measure{Name: "dearest", Kind: window.Max, Path: "price"}
	number := func(state string) uint64 { // of a Float64, little-endian
		n, err := m.Number([]byte(state))
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	f := audit.Finding{Kind: audit.Lost, Length: 3_600_000, Group: "/p", Measure: m.Name, Of: &m, Expected: number("\x00\x00\x00\x00\x00\xe0\x58\x40"), Found: number("\x00\x00\x00\x00\x00\x00\x08\xc0")}
	if got, want := sentence(f), "measure dearest is 99.5 in its 1h rollup, and -3 by the rows"; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if f.Found = 0; !strings.HasSuffix(sentence(f), "measure dearest is 99.5 in its 1h rollup, and nothing by the rows") {
		t.Errorf("%q", sentence(f))
	}
}
