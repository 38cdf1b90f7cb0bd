package sim

import (
	"runtime"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
)

func TestMain(m *testing.M) {
	debug.SetGCPercent(400) // schedules are small and short-lived
	m.Run()
}

// TestSchedules runs the first seeds: there must be no violation, and every
// fault must happen. `make prove` runs 20,000.
func TestSchedules(t *testing.T) {
	n, totals, failed := Campaign{
		Seeds: 1000, Goroutines: runtime.GOMAXPROCS(0), Again: 100,
		Until: func(r *Result) bool { return r.Failed() },
	}.Run()
	for _, r := range failed {
		small := Shrink(r)
		t.Errorf("seed %d: %q\nshrunk to %d steps with %s: %q\nagain: %s", r.Seed, r.Problems, small.Steps, small.On, small.Problems, Command(small))
	}
	for f := range Faults {
		if totals.Faults[f] == 0 {
			t.Errorf("%v never happened: the runs test less than they say", f)
		}
	}
	if totals.Taken == 0 || totals.Folds == 0 {
		t.Error("no window had the numbers of whole rows, or no line of the ledger was folded")
	}
	t.Logf("%d schedules, %+v", n, totals)
}

// TestDigest: a seed decides everything.
func TestDigest(t *testing.T) {
	seen := map[uint64]uint64{}
	for seed := range uint64(50) {
		r := Run(seed, Options{})
		if again := Run(seed, Options{}); again.Digest != r.Digest {
			t.Errorf("seed %d: digest %x, then %x", seed, r.Digest, again.Digest)
		}
		if old, ok := seen[r.Digest]; ok {
			t.Errorf("seeds %d and %d have the same digest", old, seed)
		}
		seen[r.Digest] = seed
	}
}

// TestSet: ParseSet reads the text of a set as that set.
func TestSet(t *testing.T) {
	for f := range Faults {
		s, err := ParseSet(Set(0).With(f).String())
		if err != nil || s != Set(0).With(f) {
			t.Errorf("%v: %v, %v", f, s, err)
		}
	}
	if s, err := ParseSet(All.String()); err != nil || s != All {
		t.Errorf("all: %v, %v", s, err)
	}
	if _, err := ParseSet("kill,flood"); err == nil {
		t.Error("no error for a fault that is none")
	}
}

// TestControls plants one mistake after the other. Those in the core take a build with an overlay:
// `make sim-controls`, a part of `make prove`, has it.
func TestControls(t *testing.T) {
	for m := None + 1; m < Mistakes; m++ {
		r, ok, err := Control(m)
		switch {
		case m.InCore():
			if err == nil {
				t.Errorf("%v was planted in a build that cannot have it", m)
			}
		case err != nil:
			t.Error(err)
		case !ok:
			t.Errorf("%v (%s) was not found in %d seeds", m, m.Text(), Within)
		default:
			t.Logf("%v: seed %d: %s", m, r.Seed, r.Problems[0])
		}
	}
}

// TestOverlay: each mistake of the core has a place, and its switch. A place that is not there, or
// twice, is an error.
func TestOverlay(t *testing.T) {
	if _, err := Overlay("../..", t.TempDir()); err != nil {
		t.Error(err)
	}
	for m := None + 1; m < Mistakes; m++ {
		if at := slices.IndexFunc(patches, func(p patch) bool { return p.mistake == m }); at >= 0 != m.InCore() {
			t.Errorf("%v: patch %d", m, at)
		}
	}
	for _, p := range patches {
		if !strings.Contains(p.mistaken, "planted") {
			t.Errorf("%v would always be on", p.mistake)
		}
		for _, source := range []string{"", p.anchor + p.anchor} {
			if _, err := p.apply(source); err == nil {
				t.Errorf("%v was planted in %q", p.mistake, source)
			}
		}
	}
}

// TestShrink: a shrunk run fails, is not larger, and runs again from its command
// line.
func TestShrink(t *testing.T) {
	r, found, err := Control(MidChunk)
	if err != nil || !found {
		t.Fatalf("no seed fails: %v", err)
	}
	small := Shrink(r)
	if !small.Failed() || small.Steps > r.Steps || small.Options.Without == 0 {
		t.Errorf("shrunk %d steps with %s to %d with %s: %q", r.Steps, r.On, small.Steps, small.On, small.Problems)
	}
	if again := Run(small.Seed, small.Options); again.Digest != small.Digest || !again.Failed() {
		t.Errorf("again: digest %x, then %x; %q", small.Digest, again.Digest, again.Problems)
	}
	t.Log(Command(small), small.Problems)
}
