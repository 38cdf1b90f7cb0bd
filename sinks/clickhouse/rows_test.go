package clickhouse

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"weir/internal/local/localtest"
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
	b := stateBlock(l)
	for range 2 { // the buffers are used again
		b.reset()
		for row := range table.Rows {
			b.addRow(l, row, 7, nil)
		}
	}
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
	got, err := io.ReadAll(iotest.OneByteReader(b.reader()))
	if err != nil || string(got) != want {
		t.Errorf("read, %v:\n%q, want\n%q", err, got, want)
	}
	var buf bytes.Buffer
	if n, err := b.reader().(io.WriterTo).WriteTo(&buf); err != nil || buf.String() != want || int(n) != len(want) {
		t.Errorf("written, %d, %v:\n%q, want\n%q", n, err, buf.String(), want)
	}
	if got := b.statement("db"); got != "INSERT INTO `db`.`total_state` (`window_start`, `hits`, `users`, `flushed_in`)" {
		t.Error(got)
	}
}

// TestSplit: a flush beyond the bounds of a block is inserted as several blocks, also with
// gzip.
func TestSplit(t *testing.T) {
	engine, database := localtest.Engine(t)
	b := stand(t, engine)
	for _, compress := range []bool{false, true} {
		c := dial(t, Config{URL: b.URL, Database: database, Compress: compress})
		j := clicks()
		j.Spec.Chunk = 16
		s := unaudited(t, c, j)
		op := operator(t, s.layout.Spec, 0)
		var docs []string
		for i := range 16 {
			docs = append(docs, click(noon+int64(i)*60_000, fmt.Sprintf("/p/%d", i%2), i, fmt.Sprint(i)), `{`)
		}
		observe(t, op, 0, 0, noon+3_900_000, docs...)
		changes := op.Take()
		changes.Table.Seal()
		if n := changes.Table.Len(); n != 16 {
			t.Fatalf("%d rows", n)
		}
		// 16 rows, positions and dead letters, two ledger lines.
		for limit, want := range map[int]int{1: 50, 10: 7, 1 << 30: 4} {
			s.limit = limit
			inserts := 0
			b.on(func(w http.ResponseWriter, r *http.Request) {
				if inserts++; r.Header.Get("Content-Encoding") == "gzip" != compress {
					t.Errorf("Content-Encoding %q", r.Header.Get("Content-Encoding"))
				}
				b.engine.ServeHTTP(w, r)
			})
			write(t, s, changes)
			b.off()
			if inserts != want {
				t.Errorf("%d rows a block: %d inserts, want %d", limit, inserts, want)
			}
			for sql, want := range map[string]string{
				"SELECT sum(hits), count() FROM " + c.name("clicks_1m"):                      "(16,16)",
				"SELECT count() FROM " + c.name("clicks_places"):                             "(16)",
				"SELECT count() FROM " + c.name("weir_dead_letters") + " FINAL":              "(16)",
				"SELECT sum(next - first), count() FROM " + c.name("weir_ledger") + " FINAL": "(32,2)",
			} {
				if got := one(t, c, sql); got != want {
					t.Errorf("limit %d: %s is %s, want %s", limit, sql, got, want)
				}
			}
		}
	}
}

// TestWriteKeepsChanges: Write leaves the changes as they are, so that they
// can be sent again or merged with others.
func TestWriteKeepsChanges(t *testing.T) {
	c := open(t)
	s := unaudited(t, c, clicks())
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
	b := stateBlock(l)
	for row := range c.Table.Rows {
		b.addRow(l, row, 0, nil)
	}
	out, _ := io.ReadAll(b.reader())
	return fmt.Sprintf("%s %v %v %v", out, c.Lines, c.Dead, c.Next)
}
