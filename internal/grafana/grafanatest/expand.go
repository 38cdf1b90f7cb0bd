// Package grafanatest does what Grafana and its ClickHouse plugin do with a query of a dashboard
// before they send it, for tests.
package grafanatest

import (
	"fmt"
	"regexp"
	"strings"
	"time"
)

// A Moment is the state of Grafana when it sends a query.
type Moment struct {
	From, To time.Time
	Interval time.Duration       // width of a point: the range over the panel's width
	Vars     map[string][]string // chosen values; all is {All}
}

// All is the value of a variable of which everything is chosen.
const All = "$__all"

// Expand changes a query as Grafana and its ClickHouse plugin do: it fills in
// variables and macros. It supports only those that the dashboards use; others
// are an error.
func Expand(sql string, m Moment) (string, error) {
	seconds := max(1, int64(m.Interval/time.Second))
	from, to := fmt.Sprintf("toDateTime(%d)", m.From.Unix()), fmt.Sprintf("toDateTime(%d)", m.To.Unix())

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
		values, ok := m.Vars[args[1][1:]]
		if !ok {
			return "", fmt.Errorf("no variable %s", args[1])
		}
		condition := args[0]
		if len(values) == 1 && values[0] == All {
			condition = "1=1"
		}
		sql = before + condition + after
	}
	for name, values := range m.Vars {
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
