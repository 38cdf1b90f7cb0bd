package clickhouse

import (
	"slices"
	"sync"
	"testing"
)

// A database has one id, even if several processes make it at the same time, and no two
// databases have the same id.
func TestDatabaseID(t *testing.T) {
	var ids []string
	for range 2 {
		c := open(t)
		if _, err := c.ID(t.Context()); err == nil {
			t.Error("a database that is not there has an id")
		}
		var wg sync.WaitGroup
		for range 3 {
			wg.Go(func() {
				if _, err := c.Migrate(t.Context(), []Job{total()}, Migration{}); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		id, err := c.ID(t.Context())
		if err != nil || len(id) < 16 {
			t.Fatalf("id %q, %v", id, err)
		}
		steps, err := c.Migrate(t.Context(), []Job{total()}, Migration{})
		if err != nil || len(steps) > 0 {
			t.Errorf("migrated again: %v, %v", steps, err)
		}
		if again, err := c.MakeID(t.Context()); again != id || err != nil {
			t.Errorf("later the id is %q, %v; it was %q", again, err, id)
		}
		ids = append(ids, id)

		// A database from before there were ids: two first runs give it one id.
		if err := c.exec(t.Context(), "forget", "ALTER TABLE "+c.name("weir_schema")+" DELETE WHERE object = 'database id' SETTINGS mutations_sync = 2", queryTimeout); err != nil {
			t.Fatal(err)
		}
		made := make([]string, 3)
		for range made {
			wg.Go(func() { _, _ = c.MakeID(t.Context()) })
		}
		wg.Wait()
		for i := range made {
			if made[i], err = c.MakeID(t.Context()); err != nil || made[i] != made[0] || made[i] == id || made[i] == "" {
				t.Errorf("ids %q, %v; before it was %q", made, err, id)
			}
		}
		ids = append(ids, made[0])
	}
	if slices.Sort(ids); len(slices.Compact(ids)) != 4 {
		t.Errorf("ids of two databases, each of them twice: %q", ids)
	}
}
