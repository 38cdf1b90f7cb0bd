package main

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"weir/audit"
	"weir/measures/extreme"
	"weir/window"
)

// TestFindingsInWords: the sentence, the remedy and the offset to read again from of each kind of finding.
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
	var out strings.Builder
	used := map[string]bool{}
	for _, f := range []audit.Finding{
		chunk(audit.Unbalanced, 100, 101), chunk(audit.Outside, 101, 101), chunk(audit.Uneven, 36, 30), chunk(audit.Hole, 498, 501),
		chunk(audit.Missing, 99, 92), chunk(audit.Excess, 99, 100), begun(520, chunk(audit.Excess, 0, 80)), chunk(audit.Unknown, 0, 92),
		window(audit.Lost, "", 4, 3), window(audit.Lost, "users", 4, 3), window(audit.Behind, "", 4, 3), window(audit.Behind, "users", 4, 3),
		partition(audit.Beyond, 100, 600, 1000, 600), partition(audit.Beyond, 700, 600, 1000, 600), partition(audit.Deleted, 10, 40, 10, 40),
		partition(audit.Beginning, 10, 40, 10, 40), partition(audit.Vanished, 0, 7, 7, 0), partition(audit.Recreated, 0, 7, 7, 9),
		{Kind: audit.Ahead, Job: "clicks", Topic: "web", Expected: 12, Found: 3, By: 7_201_000},
		cut(520, 540, chunk(audit.Clipped, 50, 42)), cut(560, 540, chunk(audit.Clipped, 70, 42)), partition(audit.Twice, 0, 130, 0, 120),
		{Kind: audit.Short, Job: "clicks", Topic: "web", Expected: 120, Found: 50},
	} {
		fmt.Fprintf(&out, "%s\n  %s\n", sentence(f), advice(f, perhapsCompacted))
		if back := messageOf(f).back; back != nil {
			fmt.Fprintf(&out, "  back to %d\n", back(f))
		}
		used[messageOf(f).what] = true
	}
	for _, m := range messages {
		if !used[m.what] {
			t.Errorf("no case for %q", m.what)
		}
	}
	for k := range audit.Kinds {
		_ = messageOf(audit.Finding{Kind: k}) // panics if there is none
	}
	if file := "testdata/findings.txt"; *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if want, err := os.ReadFile(file); err != nil || out.String() != string(want) {
		t.Errorf("%v\n%s\nis not %s; -update rewrites it", err, &out, file)
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
	m := window.Measure{Name: "dearest", Kind: extreme.Max, Path: "price"}
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
