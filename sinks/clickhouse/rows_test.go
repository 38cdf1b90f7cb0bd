package clickhouse

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"weir/sinks/clickhouse/native"
	"weir/sinks/clickhouse/schema"
	"weir/window"
)

// TestBlockBytes: a block equals the Native format, byte for byte.
func TestBlockBytes(t *testing.T) {
	l, err := total().Plan()
	if err != nil {
		t.Fatal(err)
	}
	op := operator(t, l.Spec, 2)
	observe(t, op, 2, 0, noon, click(noon, "/", 1, "a"), click(noon+1, "/", 1, "b"), click(noon+60_000, "/", 2, "c"))
	table := op.Take().Table
	table.Seal()
	var users []byte
	for row := range table.Rows {
		users = row.AppendState(users, 0)
	}
	want := "\x04\x02" + // columns, rows
		"\x0cwindow_start\x08DateTime" + "\xc0\x02\x1f\x69" + "\xfc\x02\x1f\x69" +
		"\x04hits\x13Map(UInt64, UInt64)" +
		"\x01\x00\x00\x00\x00\x00\x00\x00" + "\x02\x00\x00\x00\x00\x00\x00\x00" + // where each row's entries end
		"\x00\x00\x00\x00\x00\x02\x00\x00" + "\x00\x00\x00\x00\x00\x02\x00\x00" + // slots: partition 2, chunk 0
		"\x02\x00\x00\x00\x00\x00\x00\x00" + "\x01\x00\x00\x00\x00\x00\x00\x00" + // counts
		"\x05users\x2dAggregateFunction(uniqCombined64(14), UInt64)" + string(users) +
		"\x0aflushed_in\x06UInt64" + strings.Repeat("\x07\x00\x00\x00\x00\x00\x00\x00", 2)
	var got bytes.Buffer
	if n, err := new(native.Writer[window.Row]).Write(&got, stateColumns(l, 7), 2, stateRows(table, nil, 0, 2)); err != nil || got.String() != want || n != len(want) {
		t.Errorf("%d bytes, %v:\n%q, want\n%q", n, err, got.String(), want)
	}
}

// TestWriteKeepsChanges: Write leaves the changes as they are, so that they
// can be sent again or merged with others.
func TestWriteKeepsChanges(t *testing.T) {
	c := open(t)
	s := install(t, c, clicks())
	op := operator(t, s.layout.Spec, 0)
	observe(t, op, 0, 0, noon, click(noon, "/a", 1, "a"), click(noon, "/b", 2, "b"), `{`)
	changes := op.Take()
	changes.Table.Seal()
	before := dump(s.layout, changes)
	write(t, s, changes)
	if after := dump(s.layout, changes); after != before {
		t.Errorf("before %q, after %q", before, after)
	}
}

func dump(l *schema.Layout, c *window.Changes) string {
	var out bytes.Buffer
	_, _ = new(native.Writer[window.Row]).Write(&out, stateColumns(l, 0), c.Table.Len(), stateRows(c.Table, nil, 0, c.Table.Len()))
	return fmt.Sprintf("%s %v %v %v", out.Bytes(), c.Lines, c.Dead, c.Next)
}
