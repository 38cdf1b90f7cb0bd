package dashboards_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"
)

// A moment is the state of Grafana when it sends a query.
type moment struct {
	from, to time.Time
	interval time.Duration       // width of a point: the range over the panel's width
	vars     map[string][]string // chosen values; all is {"$__all"}
}

const all = "$__all"

// expand changes a query as Grafana and its ClickHouse plugin do: it fills in
// variables and macros. It supports only those that the dashboards use; others
// are an error.
func expand(sql string, m moment) (string, error) {
	seconds := max(1, int64(m.interval/time.Second))
	from, to := fmt.Sprintf("toDateTime(%d)", m.from.Unix()), fmt.Sprintf("toDateTime(%d)", m.to.Unix())

	// $__conditionalAll checks its variable before the variables are filled in.
	for {
		args, before, after, err := call(sql, "$__conditionalAll")
		if err != nil {
			return "", err
		}
		if args == nil {
			break
		}
		if len(args) != 2 || !strings.HasPrefix(args[1], "$") {
			return "", fmt.Errorf("$__conditionalAll(%s): want a condition and a $variable", strings.Join(args, ", "))
		}
		values, ok := m.vars[args[1][1:]]
		if !ok {
			return "", fmt.Errorf("no variable %s", args[1])
		}
		condition := args[0]
		if len(values) == 1 && values[0] == all {
			condition = "1=1"
		}
		sql = before + condition + after
	}
	for name, values := range m.vars {
		quoted := make([]string, len(values))
		for i, v := range values {
			quoted[i] = "'" + strings.ReplaceAll(v, "'", `\'`) + "'"
		}
		sql = strings.ReplaceAll(sql, "${"+name+":singlequote}", strings.Join(quoted, ","))
		sql = strings.ReplaceAll(sql, "${"+name+"}", strings.Join(values, ","))
	}
	for _, macro := range []struct {
		name string
		with func(column string) string
	}{
		{"$__timeFilter", func(c string) string { return fmt.Sprintf("%s >= %s AND %s <= %s", c, from, c, to) }},
		{"$__timeInterval", func(c string) string {
			return fmt.Sprintf("toStartOfInterval(toDateTime(%s), INTERVAL %d second)", c, seconds)
		}},
	} {
		for {
			args, before, after, err := call(sql, macro.name)
			if err != nil {
				return "", err
			}
			if args == nil {
				break
			}
			if len(args) != 1 {
				return "", fmt.Errorf("%s takes a column", macro.name)
			}
			sql = before + macro.with(args[0]) + after
		}
	}
	sql = strings.NewReplacer("$__fromTime", from, "$__toTime", to, "$__interval_s", fmt.Sprint(seconds)).Replace(sql)
	if left := regexp.MustCompile(`\$[\w{][\w:}]*`).FindString(sql); left != "" {
		return "", fmt.Errorf("%s is neither a macro nor a variable that is known here", left)
	}
	return sql, nil
}

// call finds the first call of a macro and splits its arguments at the commas
// outside parentheses and quotes. args is nil when there is none.
func call(sql, name string) (args []string, before, after string, err error) {
	before, rest, found := strings.Cut(sql, name+"(")
	if !found {
		return nil, "", "", nil
	}
	depth, start, quoted := 0, 0, false
	for i, c := range rest {
		switch {
		case c == '\'':
			quoted = !quoted
		case quoted:
		case c == '(':
			depth++
		case c == ')' && depth == 0:
			return append(args, strings.TrimSpace(rest[start:i])), before, rest[i+1:], nil
		case c == ')':
			depth--
		case c == ',' && depth == 0:
			args = append(args, strings.TrimSpace(rest[start:i]))
			start = i + 1
		}
	}
	return nil, "", "", fmt.Errorf("%s( is not closed", name)
}

func TestExpand(t *testing.T) {
	m := moment{
		from: time.Unix(1000, 0), to: time.Unix(2000, 0), interval: 15 * time.Second,
		vars: map[string][]string{"page": {"/a", "/o'b"}, "job": {all}, "one": {"1m"}},
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
		got, err := expand(sql, m)
		if err != nil || got != want {
			t.Errorf("%s\ngot  %s, %v\nwant %s", sql, got, err, want)
		}
	}
	for _, sql := range []string{
		"$__timeFilter(t", "$__timeFilter(t, u)", "$__timeFilterr(t)", "$page", "${nobody:singlequote}",
		"$__conditionalAll(a = 1)", "$__conditionalAll(a = 1, page)", "$__conditionalAll(a = 1, $nobody)",
	} {
		if got, err := expand(sql, m); err == nil {
			t.Errorf("%s: no error, got %s", sql, got)
		}
	}
}
