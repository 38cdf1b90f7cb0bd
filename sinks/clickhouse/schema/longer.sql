{{- /* The live tail of a longer rollup: its windows that have rows in the live tail of the
first rollup, or rows of a shorter rollup that it may lack. Their states are those of
these rows, merged with its own. Their hits and totals are the sum over the windows of the
first rollup, each the greater of the rollup's and the tail's. */ -}}
SELECT
        {{.Groups}}_start AS window_start,
        sum(_w.hits) AS hits
{{- range .Measures}},
        {{.Live (.Plus (print "_w." .Column))}} AS {{.Column}}
{{- end}}
    FROM
    (
        SELECT {{.Groups}}{{.Start}} AS _start, max(_v.hits) AS hits{{range .Measures}}, {{.Merge (print "_v." .Column)}} AS {{.Column}}{{end}}
        FROM
        (
        {{template "tail.sql" .Shortest}}
            UNION ALL
            SELECT {{.Groups}}window_start, hits{{range .Measures}}, {{if .Additive}}{{.State}}{{else}}{{.Empty}}{{end}}{{end}}
            FROM {{.Shortest.Table}}
            WHERE window_start >= (SELECT min(_start) FROM ({{template "stale.sql" .}})) AND {{.Start}} IN ({{template "stale.sql" .}})
        ) AS _v
        GROUP BY {{.Groups}}window_start
{{- range .Shorter}}
        UNION ALL
        SELECT {{.Groups}}{{$.Start}}, 0{{range .Measures}}, {{if .Additive}}{{.Empty}}{{else}}{{.State}}{{end}}{{end}}
        FROM {{.Table}}
        WHERE rolled_in >= {{.Next.Done}}
{{- end}}
        UNION ALL
        SELECT {{.Groups}}window_start, 0{{range .Measures}}, {{if .Additive}}{{.Empty}}{{else}}{{.State}}{{end}}{{end}}
        FROM {{.Table}}
        WHERE window_start IN ({{template "stale.sql" .}})
    ) AS _w
    GROUP BY {{.Groups}}_start
