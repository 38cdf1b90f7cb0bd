{{- /* Windows that are asked for, put together from those that are stored. A window is a
number of steps, and no stored window lies in two steps: that is checked in _at. Each step is
made of the longest stored windows that lie within it. Of a window in the live tail of a
rollup (view.sql, stale.sql), the windows of the next shorter one are taken, and in the end
state rows. So the answer is as fresh as the views, and a month is mostly days.

Hits and totals are added up, so they are merged by window first. All else is merged. The
parts of the statement are in the order of view.sql, and for the same reason. Rows are chosen
in one place, above all tables: ClickHouse moves the condition down to each of them, and to
other shards. A condition for each table would be analysed for each table, which took more time
than the rows. */ -}}
WITH
    {{template "at.sql" .}}
SELECT
    {{.By}}{{.WindowStart}} AS window_start,
    {{.WindowEnd}} AS window_end,
    toUInt64(sum(_o.hits)) AS hits,
{{- range .Measures}}
    {{$.Answer .}},
{{- end}}
    toUInt8(ifNull(window_end <= _at.{{.CompleteAt}}, 0)) AS complete
FROM
(
    SELECT {{.By}}{{.Windows}} AS _window, hits{{range .Measures}}, {{.Column}}{{end}}{{range .Forgotten}}, {{.Held}}{{end}}
    FROM
    (
        SELECT {{.By}}{{.Step "_start"}} AS _step, sum(_p.hits) AS hits{{range .Measures}}, {{.Plus (print "_p." .Column)}} AS {{.Column}}{{end}}{{range .Forgotten}}, max(_p.{{.Held}}) AS {{.Held}}{{end}}
        FROM
        (
            SELECT {{.Groups}}_start, _level, max(_v.hits) AS hits{{range .Measures}}, {{if .Additive}}{{.Merge (print "_v." .Column)}}{{else}}{{.Empty}}{{end}} AS {{.Column}}{{end}}{{range .Forgotten}}, 0 AS {{.Held}}{{end}}
            FROM
            (
                SELECT {{.Groups}}window_start AS _start, 1 AS _level, hits{{range .Additive}}, {{.Column}}{{end}}
                FROM
                (
        {{template "tail.sql" .Shortest.Totals}}
                ) AS _l
{{- range .Levels}}
                UNION ALL
                SELECT {{.Groups}}window_start, {{.Place}}, hits{{range .Additive}}, {{.State}}{{end}}
                FROM {{.Table}}
{{- end}}
            ) AS _v
            GROUP BY {{.Groups}}_start, _level
            UNION ALL
            SELECT {{.Groups}}{{.Shortest.Start}}, 1, 0{{range .Measures}}, {{if .Additive}}{{.Empty}}{{else}}{{.Stored}}{{end}}{{end}}{{range .Forgotten}}, 0{{end}}
            FROM {{.State}}
            WHERE {{.Shortest.Start}} IN (_tail.1)
{{- range $v := .Levels}}
            UNION ALL
            SELECT {{$.Groups}}window_start, {{.Place}}, 0{{range .Measures}}, {{if .Additive}}{{.Empty}}{{else}}{{.State}}{{end}}{{end}}{{range $.Forgotten}}, {{$v.Lost .}}{{end}}
            FROM {{.Table}}
{{- end}}
        ) AS _p
        WHERE {{.Used "_start" "_level"}}
        GROUP BY {{.By}}_step
    ) AS _s
) AS _o
GROUP BY {{.By}}_window
{{- if .Kept}}
HAVING {{.Kept}}
{{- end}}
