package memory_test

import (
	"testing"

	"weir/event"
	"weir/serve/live"
	"weir/sinks/memory"
	"weir/sinks/sinktest"
	"weir/window"
)

// What the suite tests of a sink is what live needs: neither has a method more.
var (
	_ live.Sink         = sinktest.LiveSink(nil)
	_ sinktest.LiveSink = interface {
		sinktest.Sink
		live.Sink
	}(nil)
)

// backend implements sinktest.Backend with a Store.
type backend struct {
	store *memory.Store
	sinks map[int]*memory.Sink
}

func (b *backend) Open(t *testing.T, spec *window.Spec) (sinktest.Sink, error) {
	s, err := b.store.Job(spec, sinktest.Topic, sinktest.Rollups...)
	if err != nil {
		return nil, err
	}
	b.sinks[spec.Version] = s
	return s, nil
}

func (b *backend) Contents(t *testing.T, spec *window.Spec) *memory.Contents {
	return b.store.Contents(spec.Job, spec.Version)
}

func (b *backend) View(t *testing.T, spec *window.Spec, length event.Time) map[memory.Key]memory.Numbers {
	return b.sinks[spec.Version].View(length)
}

func (b *backend) Rolled(t *testing.T, spec *window.Spec, length event.Time) map[memory.Key]memory.Numbers {
	return b.store.Contents(spec.Job, spec.Version).Rollups[length]
}

func (b *backend) edit(spec *window.Spec, f func(c *memory.Contents)) {
	b.store.Edit(spec.Job, spec.Version, f)
}

func (b *backend) DeleteRow(t *testing.T, spec *window.Spec, key memory.Key) {
	b.edit(spec, func(c *memory.Contents) { delete(c.Rows, key) })
}

func (b *backend) DeleteRollup(t *testing.T, spec *window.Spec, length event.Time) {
	b.edit(spec, func(c *memory.Contents) { delete(c.Rollups, length) })
}

func (b *backend) Repair(t *testing.T, spec *window.Spec) {
	if err := b.sinks[spec.Version].Repair(t.Context(), 0, 0); err != nil {
		t.Fatal(err)
	}
}

func (b *backend) RaiseSlot(t *testing.T, spec *window.Spec, key memory.Key, slot window.Slot) {
	b.edit(spec, func(c *memory.Contents) { c.Rows[key].Hits[slot]++ })
}

func (b *backend) DeleteLine(t *testing.T, spec *window.Spec, key memory.LineKey) {
	b.edit(spec, func(c *memory.Contents) { delete(c.Ledger, key) })
}

func (b *backend) ChangeLine(t *testing.T, spec *window.Spec, line window.Line) {
	b.edit(spec, func(c *memory.Contents) {
		c.Ledger[memory.LineKey{Epoch: line.Epoch, Partition: line.Partition, Chunk: line.Chunk, First: line.First}] = line
	})
}

func TestConformance(t *testing.T) {
	sinktest.Run(t, func(t *testing.T) sinktest.Backend {
		return &backend{memory.New(), map[int]*memory.Sink{}}
	})
}

func TestLive(t *testing.T) {
	sinktest.RunLive(t, func(t *testing.T) sinktest.Backend {
		return &backend{memory.New(), map[int]*memory.Sink{}}
	})
}
