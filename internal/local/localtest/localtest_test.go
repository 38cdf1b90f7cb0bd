package localtest

import "testing"

func TestMain(m *testing.M) { Main(m) }

func TestEngine(t *testing.T) {
	url, db := Engine(t)
	_, other := Engine(t)
	if db == other {
		t.Fatalf("two tests got the same database %s", db)
	}
	for _, sql := range []string{
		"CREATE TABLE t (a UInt64, s String) ENGINE = MergeTree ORDER BY a",
		"INSERT INTO t VALUES (1, 'one'), (2, 'two\n\nlines')",
	} {
		if _, err := Query(url, db, sql); err != nil {
			t.Fatal(err)
		}
	}
	got, err := Query(url, db, "SELECT sum(a), sum(length(s)), currentDatabase() FROM t")
	if want := "3\t13\t" + db; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
	for _, x := range [][2]string{{url, "1"}, {url + "/?max_threads=3", "3"}} {
		if got, err := Query(x[0], "", "SELECT getSetting('max_threads')"); err != nil || got != x[1] {
			t.Errorf("%s reads with %s threads, %v, want %s", x[0], got, err, x[1])
		}
	}
	if _, err := Query(url, other, "SELECT * FROM t"); err == nil {
		t.Error("a test sees the table of another")
	}
}
