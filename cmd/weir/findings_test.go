package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"weir/audit"
	"weir/event"
	"weir/measures/extreme"
	"weir/window"
)

// TestFindingsInWords: the sentence, the remedy and the offset to read again from of each kind of finding.
func TestFindingsInWords(t *testing.T) {
	chunk := func(k audit.Class, expected, found uint64) audit.Finding {
		return audit.Finding{Class: k, Job: "clicks", Topic: "web", Partition: 1, Chunk: 5, Offsets: audit.Offsets{First: 500, Next: 600}, Expected: expected, Found: found}
	}
	cut := func(first, next int64, f audit.Finding) audit.Finding {
		f.Both = audit.Offsets{First: first, Next: next}
		return f
	}
	begun := func(first int64, f audit.Finding) audit.Finding {
		f.Opened, f.Offsets.First = true, first
		return f
	}
	window := func(k audit.Class, measure string, expected, found uint64) audit.Finding {
		return audit.Finding{Class: k, Job: "clicks", Topic: "web", Window: 1_760_000_400_000, Length: 3_600_000, Group: "/p {found} US", Measure: measure, Expected: expected, Found: found}
	}
	partition := func(k audit.Class, first, next int64, expected, found uint64) audit.Finding {
		return audit.Finding{Class: k, Job: "clicks", Topic: "web", Partition: 2, Epoch: 1, Offsets: audit.Offsets{First: first, Next: next}, Expected: expected, Found: found}
	}
	var out strings.Builder
	used := map[audit.Class]bool{}
	for _, f := range []audit.Finding{
		chunk(audit.Unbalanced, 100, 101), chunk(audit.Outside, 101, 101), chunk(audit.Uneven, 36, 30), chunk(audit.Hole, 498, 501),
		chunk(audit.Missing, 99, 92), chunk(audit.Excess, 99, 100), begun(520, chunk(audit.Excess, 0, 80)), chunk(audit.Unknown, 0, 92),
		window(audit.Lost, "", 4, 3), window(audit.Lost, "users", 4, 3), window(audit.Behind, "", 4, 3), window(audit.Behind, "users", 4, 3),
		partition(audit.Beyond, 100, 600, 1000, 600), partition(audit.Beyond, 700, 600, 1000, 600), partition(audit.Deleted, 10, 40, 10, 40),
		partition(audit.Beginning, 10, 40, 10, 40), partition(audit.Vanished, 0, 7, 7, 0), partition(audit.Recreated, 0, 7, 7, 9),
		{Class: audit.Ahead, Job: "clicks", Topic: "web", Expected: 12, Found: 3, By: 7_201_000},
		cut(520, 540, chunk(audit.Clipped, 50, 42)), cut(560, 540, chunk(audit.Clipped, 70, 42)), partition(audit.Twice, 0, 130, 0, 120),
		{Class: audit.Short, Job: "clicks", Topic: "web", Expected: 120, Found: 50},
	} {
		fmt.Fprintf(&out, "%s\n  %s\n", sentence(f), advice(f))
		if back := messages[f.Class].back; back != nil {
			fmt.Fprintf(&out, "  back to %d\n", back(f))
		}
		used[f.Class] = true
	}
	for k := range audit.Classes {
		if !used[k] || messages[k].what == "" || messages[k].do == "" {
			t.Errorf("no case, or no message, for %v", k)
		}
	}
	if file := "testdata/findings.txt"; *update {
		if err := os.WriteFile(file, []byte(out.String()), 0o600); err != nil {
			t.Fatal(err)
		}
	} else if want, err := os.ReadFile(file); err != nil || out.String() != string(want) {
		t.Errorf("%v\n%s\nis not %s; -update rewrites it", err, &out, file)
	}
}

// TestAdviceCompacted: if gaps explain a finding, the topic may be compacted.
func TestAdviceCompacted(t *testing.T) {
	for gaps, want := range map[uint64]bool{5: true, 4: false} {
		got := advice(audit.Finding{Class: audit.Excess, Expected: 90, Found: 95, Gaps: gaps})
		if strings.HasPrefix(got, "if the topic is compacted: ") != want || !strings.Contains(got, "from a backup") {
			t.Errorf("%d gaps: %s", gaps, got)
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
	f := audit.Finding{Class: audit.Lost, Length: 3_600_000, Group: "/p", Measure: m.Name, Of: &m, Expected: number("\x00\x00\x00\x00\x00\xe0\x58\x40"), Found: number("\x00\x00\x00\x00\x00\x00\x08\xc0")}
	if got, want := sentence(f), "measure dearest is 99.5 in its 1h rollup, and -3 by the rows"; !strings.HasSuffix(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
	if f.Found = 0; !strings.HasSuffix(sentence(f), "measure dearest is 99.5 in its 1h rollup, and nothing by the rows") {
		t.Errorf("%q", sentence(f))
	}
}

// TestRemedyBack: the remedy reads a partition again from the lowest offset of its findings,
// if the log still has it and is what the epoch of the finding counts. Each advice is printed once.
func TestRemedyBack(t *testing.T) {
	todo := remedy{}
	for _, f := range []audit.Finding{
		{Class: audit.Missing, Partition: 3, Offsets: audit.Offsets{First: 500, Next: 600}},
		{Class: audit.Missing, Partition: 3, Offsets: audit.Offsets{First: 300, Next: 400}},
		{Class: audit.Hole, Partition: 3, Expected: 350},
		{Class: audit.Excess, Partition: 4, Offsets: audit.Offsets{First: 0, Next: 100}},
		{Class: audit.Unknown, Partition: 5, Offsets: audit.Offsets{First: 100, Next: 200}},
		{Class: audit.Missing, Partition: 3, Epoch: 1, Offsets: audit.Offsets{First: 200, Next: 300}},
	} {
		todo.take(f)
	}
	var out bytes.Buffer
	todo.print(&out, "kafka-consumer-groups.sh --group weir.clicks", "web", []event.Assignment{{Partition: 3, LogEnd: 900}, {Partition: 4, LogEnd: 900}, {Partition: 5, LogStart: 101, LogEnd: 900}},
		func(epoch uint8, of event.Assignment) bool { return of.Partition != 3 || epoch == 0 })
	for text, n := range map[string]int{
		"--group weir.clicks --topic web:3 --reset-offsets --to-offset 300 ": 1,
		"--reset-offsets": 1,
		"partition 5 cannot be read again from 100: the log does not hold what was counted any more": 1,
		"partition 3 cannot be read again from 200: the log does not hold what was counted any more": 1,
		"state rows are gone": 1,
	} {
		if got := strings.Count(out.String(), text); got != n {
			t.Errorf("%q is there %d times, want %d:\n%s", text, got, n, &out)
		}
	}
}
