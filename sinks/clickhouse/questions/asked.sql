{{- /* Windows that are asked for, put together from those that are stored. A window is a
number of steps, and no stored window lies in two steps: that is checked in _at. Each step is
made of the longest stored windows that lie within it, so a month is mostly days. The answer is
as fresh as the views (view.sql, stale.sql): hits and totals of a window in the live tail of a rollup
are those of the next shorter windows, and states are merged with those that the rollup may lack.

Hits and totals are added up, so they are merged by window first. _part says of a row that it has these (0),
states (1), or states that the next longer rollup may lack (2). The
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
    SELECT {{.By}}{{.Windows}} AS _window, hits{{range .Measures}}, {{.Column}}{{end}}{{if .Forgotten}}, _gone{{end}}
    FROM
    (
        SELECT {{.By}}{{.Step "_start"}} AS _step, sum(_p.hits) AS hits{{range .Measures}}, {{.Plus (print "_p." .Column)}} AS {{.Column}}{{end}}{{if .Forgotten}}, max(_p._gone) AS _gone{{end}}
        FROM
        (
            SELECT {{.Groups}}_start, _level, 0 AS _part, max(_v.hits) AS hits{{range .Measures}}, {{if .Additive}}{{.Merge (print "_v." .Column)}}{{else}}{{.Empty}}{{end}} AS {{.Column}}{{end}}{{if .Forgotten}}, 0 AS _gone{{end}}
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
            SELECT {{.Groups}}{{.Shortest.Start}}, 1, {{.Part .Shortest}}, 0{{range .Measures}}, {{if .Additive}}{{.Empty}}{{else}}{{.Stored}}{{end}}{{end}}{{if .Forgotten}}, 0{{end}}
            FROM {{.State}}
{{- range .Longer}}
            UNION ALL
            SELECT {{$.Groups}}window_start, {{.Place}}, {{$.Part .}}, 0{{range .Measures}}, {{if .Additive}}{{.Empty}}{{else}}{{.State}}{{end}}{{end}}{{if $.Forgotten}}, {{.Level.Lost "rolled_at"}}{{end}}
            FROM {{.Table}}
{{- end}}
        ) AS _p
        WHERE {{.Used "_start" "_level" "_part"}}
        GROUP BY {{.By}}_step
    ) AS _s
) AS _o
GROUP BY {{.By}}_window
{{- if .Kept}}
HAVING {{.Kept}}
{{- end}}
