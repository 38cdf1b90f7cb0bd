package clickhouse

import (
	"fmt"
	"testing"

	"weir/window"
)

const noon = 1_763_640_000_000 // 2025-11-20 12:00:00 UTC

func TestWriteAndRead(t *testing.T) {
	c := open(t)
	s := install(t, c, clicks())
	op := operator(t, s.layout.Spec, 0, 1)
	var docs []string
	for i := range 100 {
		docs = append(docs, click(noon+int64(i)*1000, fmt.Sprintf("/p/%d", i%3), i%40, fmt.Sprint("e", i)))
	}
	docs = append(docs, `{"ts":`, click(noon-100_000_000, "/p/1", 1, "x"), click(noon+100_000_000, "/p/1", 1, "x"))
	observe(t, op, 0, 0, noon, docs...)
	observe(t, op, 1, 0, noon, docs[:10]...)
	changes := op.Take()
	write(t, s, changes)
	write(t, s, changes) // again: joins away

	check := func() {
		t.Helper()
		for sql, want := range map[string]string{
			"SELECT sum(hits) FROM " + c.name("clicks_1m"):                                                            "(110)",
			"SELECT count(), sum(hits), max(users), max(active) FROM " + c.name("clicks_1m") + " WHERE page = '/p/0'": "(2,38,20,20)",
			"SELECT count() FROM " + c.name("weir_dead_letters") + " FINAL":                                           "(3)",
			"SELECT count(), countDistinct(member) FROM " + c.name("locations_view_placeholder"):                      "",
		} {
			if want == "" {
				continue
			}
			if got := one(t, c, sql); got != want {
				t.Errorf("%s\ngot %s, want %s", sql, got, want)
			}
		}
	}
	check()
	if err := s.Rollup(t.Context(), true); err != nil {
		t.Fatal(err)
	}
	check()
	known, err := s.Known(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if want := (window.Known{TopicID: [16]byte{1, 2, 3, 15: 16}, Next: 103}); known[0] != want || known[1].Next != 10 {
		t.Errorf("known %v, want %v", known, want)
	}
}
