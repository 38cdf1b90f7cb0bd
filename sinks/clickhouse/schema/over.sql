{{- /* Windows that are asked for, put together from those that are stored. A window is a
number of steps, and no stored window lies in two steps: that is checked in _at. Each step is
made of the longest stored windows that lie within it. Of a window in the live tail of a
rollup (view.sql, stale.sql), the windows of the next shorter one are taken, and in the end
state rows. So the answer is as fresh as the views, and a month is mostly days.

Hits and totals are added up, so they are merged by window first. All else is merged. The
parts of the statement are in the order of view.sql, and for the same reason. */ -}}
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
        SELECT {{.By}}_step, sum(_p.hits) AS hits{{range .Measures}}, {{.Plus (print "_p." .Column)}} AS {{.Column}}{{end}}{{range .Forgotten}}, max(_p.{{.Held}}) AS {{.Held}}{{end}}
        FROM
        (
            SELECT {{.By}}{{.Step "window_start"}} AS _step, hits{{range .Measures}}, {{if .Additive}}{{.Column}}{{else}}{{.Empty}} AS {{.Column}}{{end}}{{end}}{{range .Forgotten}}, 0 AS {{.Held}}{{end}}
            FROM
            (
                SELECT {{.Groups}}window_start, max(_v.hits) AS hits{{range .Additive}}, {{.Merge (print "_v." .Column)}} AS {{.Column}}{{end}}
                FROM
                (
        {{template "tail.sql" .Shortest.Totals}}
                    UNION ALL
                    SELECT {{.Groups}}window_start, hits{{range .Additive}}, {{.State}}{{end}}
                    FROM {{.Shortest.Table}}
                    PREWHERE {{.Used .Shortest}}
                ) AS _v
                WHERE {{.Within "window_start"}}
                GROUP BY {{.Groups}}window_start
{{- range .Longer}}
                UNION ALL
                SELECT {{.Groups}}window_start, max(_v.hits){{range .Additive}}, {{.Merge (print "_v." .State)}}{{end}}
                FROM {{.Table}} AS _v
                PREWHERE {{$.Used .}}
                GROUP BY {{.Groups}}window_start
{{- end}}
            ) AS _h
            UNION ALL
            SELECT {{.By}}{{.Step .Shortest.Start}}, 0{{range .Measures}}, {{if .Additive}}{{.Empty}}{{else}}{{.Stored}}{{end}}{{end}}{{range .Forgotten}}, 0{{end}}
            FROM {{.State}}
            WHERE {{.Shortest.Start}} IN (_tail.1) AND {{.Within .Shortest.Start}}
{{- range $v := .Levels}}
            UNION ALL
            SELECT {{$.By}}{{$.Step "window_start"}}, 0{{range .Measures}}, {{if .Additive}}{{.Empty}}{{else}}{{.State}}{{end}}{{end}}{{range $.Forgotten}}, {{$v.Lost .}}{{end}}
            FROM {{.Table}}
            PREWHERE {{$.Used .}}
{{- end}}
        ) AS _p
        GROUP BY {{.By}}_step
    ) AS _s
) AS _o
GROUP BY {{.By}}_window
{{- if .Kept}}
HAVING {{.Kept}}
{{- end}}
