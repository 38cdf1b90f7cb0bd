package clickhouse

import (
	"bytes"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/iotest"

	"weir/window"
)

// TestBlockBytes: a block equals the Native format, byte for byte.
func TestBlockBytes(t *testing.T) {
	l, err := total().plan()
	if err != nil {
		t.Fatal(err)
	}
	op := operator(t, l.Spec, 2)
	observe(t, op, 2, 0, noon, click(noon, "/", 1, "a"), click(noon+1, "/", 1, "b"), click(noon+60_000, "/", 2, "c"))
	table := op.Take().Table
	table.Seal()
	s := new(Client).sink(l)
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
	// The same bytes whichever way a request reads them, and when the buffers are used
	// again.
	for range 2 {
		read, _ := reading(s.stateRows(table, nil, 0, 2, 7))
		got, err := io.ReadAll(iotest.OneByteReader(read))
		if err != nil || string(got) != want {
			t.Errorf("read, %v:\n%q, want\n%q", err, got, want)
		}
		var buf bytes.Buffer
		read, _ = reading(s.stateRows(table, nil, 0, 2, 7))
		if n, err := read.WriteTo(&buf); err != nil || buf.String() != want || int(n) != len(want) {
			t.Errorf("written, %d, %v:\n%q, want\n%q", n, err, buf.String(), want)
		}
	}
	if got := s.state.statement("db"); got != "INSERT INTO `db`.`total_state` (`window_start`, `hits`, `users`, `flushed_in`)" {
		t.Error(got)
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

func dump(l *layout, c *window.Changes) string {
	read, _ := reading(new(Client).sink(l).stateRows(c.Table, nil, 0, c.Table.Len(), 0))
	out, _ := io.ReadAll(read)
	return fmt.Sprintf("%s %v %v %v", out, c.Lines, c.Dead, c.Next)
}

// reading returns what a request reads of a sequence of pieces.
func reading(pieces iter.Seq[[]byte]) (*body, func()) {
	next, stop := iter.Pull(pieces)
	return &body{next: next}, stop
}
