package sim

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// A patch plants a mistake in a file of the core: the anchor, which the file has exactly once, becomes
// the mistaken text. There planted is whether the mistake is on.
type patch struct {
	mistake                Mistake
	file, anchor, mistaken string
}

var patches = []patch{
	{CommitFirst, "flow/outbox.go", "o.flight = true",
		"o.flight = true; if planted { o.reach(o.changes.Next) }"},
	{ReuseInFlight, "flow/outbox.go", "o.flight = true",
		"o.flight = true; if planted { o.spare = append(o.spare, o.changes.Table) }"},
	{InsertDurable, "flow/outbox.go", "o.changes.Inserted(round)",
		"o.changes.Inserted(round); if planted { o.reach(o.changes.Next) }"},
	{DropFailed, "flow/outbox.go", "o.flight = false",
		"o.flight = false; if planted { o.changes = nil }"},
	{ErrorsIgnored, "flow/outbox.go", "o.flight = false",
		"o.flight = false; if planted { o.acknowledge() }"},
	{FlightForgotten, "flow/outbox.go", "return o.changes == nil ||",
		"return planted && o.flight || o.changes == nil ||"},
	{Unclaimed, "flow/claim.go", "return slices.ContainsFunc(",
		"return !planted && slices.ContainsFunc("},
	{GateOpen, "flow/gate.go", "g.closed = true",
		"g.closed = !planted"},
	{GateStuck, "flow/gate.go", "g.closed = false",
		"g.closed = g.closed && planted"},

	{PartNumbered, "window/operator.go", "if c.count > 0 {",
		"if c.count > 0 && !planted {"},
	{FoldedAcross, "window/fold.go", "l.First%(2*size) != 0",
		"l.First%(2*size) != 0 && !planted"},
	{OutcomesKept, "window/partition.go", "pt.outcomes, pt.events = [Outcomes]uint64{}, Events{}",
		"if pt.events = (Events{}); !planted { pt.outcomes = [Outcomes]uint64{} }"},
	{CapKept, "window/partition.go", "pt.groups.reset()",
		"if !planted { pt.groups.reset() }; for i := range pt.groups.groups { pt.groups.groups[i].cell = 0 }"},
	{RepeatLost, "window/partition.go", "return pt.seen.TestAndAdd(id), pt.before.Has(id)",
		"before = pt.before.Has(id); return !(planted && before) && pt.seen.TestAndAdd(id), before"},
	{IDsReset, "window/partition.go", "pt.dirty = pt.dirty[:0]",
		"pt.dirty = pt.dirty[:0]; if ids, ok := pt.seen.(*exactMemory); ok && planted { ids.Reset() }"},
	{CountsReset, "window/partition.go", "to.hits = append(to.hits, hit{c.row, slot, uint64(c.count)})",
		"to.hits = append(to.hits, hit{c.row, slot, uint64(c.count)}); if planted { c.count = 0 }"},
	{SumsReset, "window/partition.go", "pt.dirty = pt.dirty[:0]",
		"pt.dirty = pt.dirty[:0]; for i, t := range pt.tallies { if planted && t != nil && pt.spec.Measures[i].Kind.Name == \"sum\" { t.Reset(); t.Grow(len(pt.cells)) } }"},
	{BucketsReset, "window/partition.go", "pt.dirty = pt.dirty[:0]",
		"pt.dirty = pt.dirty[:0]; for i, t := range pt.tallies { if planted && t != nil && pt.spec.Measures[i].Kind.Name == \"quantile\" { t.Reset(); t.Grow(len(pt.cells)) } }"},
	{LimitsReset, "window/partition.go", "pt.dirty = pt.dirty[:0]",
		"pt.dirty = pt.dirty[:0]; if planted && pt.old != nil { pt.old.reset() }"},
	{SavedWhole, "window/saved.go", "o.table.rows[c.row].partial = true",
		"o.table.rows[c.row].partial = !planted"},
	{SavedSums, "window/saved.go", "rest = t.Load(rest)",
		"if rest = t.Load(rest); planted { t.Reset(); t.Grow(len(pt.cells)) }"},
	{SavedOutcomes, "window/saved.go", "pt.outcomes[f] = number()",
		"if n := number(); !planted { pt.outcomes[f] = n }"},
	{SavedCap, "window/saved.go", "pt.groups.limit, pt.groups.other = pt.spec.MaxGroups, other",
		"if pt.groups.limit, pt.groups.other = pt.spec.MaxGroups, other; planted { pt.groups.limit += len(pt.groups.groups) }"},
	{SavedEarly, "window/resume.go", "p.Start, p.Saved = next, known.Saved",
		"p.Start, p.Saved = next, known.Saved; if planted { p.Start = max(chunk, next-1) }"},
	{ClockPassed, "window/partition.go", "pt.watermark = max(pt.watermark, pt.clock(d, e))",
		"pt.watermark = max(pt.watermark, pt.clock(d, e)); if planted { pt.watermark = max(pt.watermark, d.times[e]) }"},
	{ClockLimits, "window/partition.go", "if here {",
		"if planted { at = d.times[e] }; if here {"},
}

// switches are the files that a build with the patches has in addition.
var switches = map[string]string{
	"window/planted.go":   "package window\n\nvar Planted string\n\nfunc planted(mistake string) bool { return mistake == Planted }\n",
	"flow/planted.go":     "package flow\n\nimport \"weir/window\"\n\nfunc planted(mistake string) bool { return mistake == window.Planted }\n",
	"proof/sim/switch.go": "package sim\n\nimport \"weir/window\"\n\nfunc init() { plant = func(m Mistake) { window.Planted = m.String() } }\n",
}

// plant switches a mistake of the core on, and the one before it off. Only a build with the patches has it.
var plant func(Mistake)

// apply returns the source with the mistake in it.
func (p *patch) apply(source string) (string, error) {
	if n := strings.Count(source, p.anchor); n != 1 {
		return "", fmt.Errorf("sim: %s has %q %d times, so the mistake %s cannot be planted there", p.file, p.anchor, n, p.mistake)
	}
	return strings.Replace(source, p.anchor, strings.ReplaceAll(p.mistaken, "planted", fmt.Sprintf("planted(%q)", p.mistake)), 1), nil
}

// Overlay writes into dir what `go build -overlay` needs to build the simulator with every mistake of the
// core in it, each behind a switch, and returns the file for that flag. The root is that of the module.
func Overlay(root, dir string) (string, error) {
	files := map[string]string{}
	for name, source := range switches {
		files[name] = source
	}
	for i := range patches {
		p := &patches[i]
		source, ok := files[p.file]
		if !ok {
			b, err := os.ReadFile(filepath.Join(root, p.file))
			if err != nil {
				return "", err
			}
			source = string(b)
		}
		var err error
		if files[p.file], err = p.apply(source); err != nil {
			return "", err
		}
	}
	replace := map[string]string{}
	root, err := filepath.Abs(root)
	if err != nil {
		return "", err
	}
	for name, source := range files {
		to := filepath.Join(dir, strings.ReplaceAll(name, "/", "-"))
		replace[filepath.Join(root, name)] = to
		if err := os.WriteFile(to, []byte(source), 0o600); err != nil {
			return "", err
		}
	}
	b, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return "", err
	}
	name := filepath.Join(dir, "overlay.json")
	return name, os.WriteFile(name, b, 0o600)
}
