package clickhouse

import (
	"fmt"
	"strings"
	"testing"

	"weir/config"
	"weir/internal/await"
	"weir/sinks/clickhouse/migrate"
	"weir/window"
)

// TestNamesAfterRestart: ClickHouse reads the tables and views of a job again when it restarts,
// whatever words of SQL its columns are called. Of those that the configuration refuses it does
// not read them.
func TestNamesAfterRestart(t *testing.T) {
	c := open(t)
	b := &backend{c: c}
	again := func(name string) error {
		b.exec(t, "DETACH TABLE "+c.Name(name))
		return c.Exec(t.Context(), "test", "ATTACH TABLE "+c.Name(name), await.Never)
	}
	j := clicks()
	j.Spec.By = nil
	for _, name := range []string{"select", "from", "where", "all", "distinct", "case", "interval", "date", "in", "limit", "and", "or", "between", "exists", "null", "array"} {
		j.Spec.By = append(j.Spec.By, window.Dimension{Name: name, Path: "page"})
	}
	for i, name := range []string{"top", "cube", "true"} {
		j.Spec.Measures[i].Name = name
	}
	s := asking(t, c, j)
	tables, views := migrate.Objects(s.layout)
	for _, name := range append(tables, views...) {
		if err := again(name); err != nil {
			t.Error(err)
		}
	}
	for _, name := range []string{"not", "cube", "false", "inf", "infinity", "nan", "rollup", "top", "true"} {
		_, _, err := config.Load(config.Options{File: "weir.yaml", Data: fmt.Appendf(nil, "jobs: [{name: j, topic: a, time: {field: ts}, window: 1m, by: [{name: '%s', field: x}]}]", name)})
		if err == nil || !strings.Contains(err.Error(), "keeps for itself") {
			t.Errorf("%s: %v", name, err)
		}
		b.exec(t, fmt.Sprintf("CREATE TABLE %s (`slot` UInt64, `%s` String) ENGINE = MergeTree ORDER BY (`slot`, `%[2]s`)", c.Name("t_"+name), name))
		b.exec(t, fmt.Sprintf("CREATE VIEW %s AS SELECT `%s`, count() AS hits FROM %s GROUP BY `%[2]s`", c.Name("v_"+name), name, c.Name("t_"+name)))
		if again("v_"+name) == nil && again("t_"+name) == nil {
			t.Errorf("ClickHouse reads tables and views with a column %s again: it need not be refused", name)
		}
	}
}
