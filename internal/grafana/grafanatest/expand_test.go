package grafanatest

import (
	"testing"
	"time"
)

func TestExpand(t *testing.T) {
	m := Moment{
		From: time.Unix(1000, 0), To: time.Unix(2000, 0), Interval: 15 * time.Second,
		Vars: map[string][]string{"page": {"/a", "/o'b"}, "job": {All}, "one": {"1m"}},
	}
	for sql, want := range map[string]string{
		"SELECT 1":         "SELECT 1",
		"$__timeFilter(t)": "t >= toDateTime(1000) AND t <= toDateTime(2000)",
		"$__timeFilter(toStartOfHour(t, 'a)b')) OR $__timeFilter(u)": "toStartOfHour(t, 'a)b') >= toDateTime(1000) AND toStartOfHour(t, 'a)b') <= toDateTime(2000)" +
			" OR u >= toDateTime(1000) AND u <= toDateTime(2000)",
		"$__timeInterval(t)":                                         "toStartOfInterval(toDateTime(t), INTERVAL 15 second)",
		"$__fromTime $__toTime":                                      "toDateTime(1000) toDateTime(2000)",
		"hits / $__interval_s":                                       "hits / 15",
		"page IN (${page:singlequote})":                              `page IN ('/a','/o\'b')`,
		"$__conditionalAll(a = 1, $job)":                             "1=1",
		"FROM t_${one}":                                              "FROM t_1m",
		"$__conditionalAll(a = 1, $page)":                            "a = 1",
		"$__conditionalAll(p IN (${page:singlequote}), $page) AND b": `p IN ('/a','/o\'b') AND b`,
	} {
		got, err := Expand(sql, m)
		if err != nil || got != want {
			t.Errorf("%s\ngot  %s, %v\nwant %s", sql, got, err, want)
		}
	}
	for _, sql := range []string{
		"$__timeFilter(t", "$__timeFilter(t, u)", "$__timeFilterr(t)", "$page", "${nobody:singlequote}",
		"$__conditionalAll(a = 1)", "$__conditionalAll(a = 1, page)", "$__conditionalAll(a = 1, $nobody)",
	} {
		if got, err := Expand(sql, m); err == nil {
			t.Errorf("%s: no error, got %s", sql, got)
		}
	}
}
