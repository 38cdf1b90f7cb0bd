{{- /* Hits and totals of the windows in the live tail of a rollup: of the first one from
state rows, of a longer one the sum over the windows of the next shorter one, each the
greater of its rollup's and its tail's. */ -}}
{{- if .First -}}
{{template "tail.sql" .Totals}}
{{- else -}}
SELECT {{.Groups}}_start AS window_start, sum(_w.hits) AS hits{{range .Additive}}, {{.Plus (print "_w." .Column)}} AS {{.Column}}{{end}}
        FROM
        (
            SELECT {{.Groups}}{{.Start}} AS _start, max(_v.hits) AS hits{{range .Additive}}, {{.Merge (print "_v." .Column)}} AS {{.Column}}{{end}}
            FROM
            (
            {{template "totals.sql" .Before}}
                UNION ALL
                SELECT {{.Groups}}window_start, hits{{range .Additive}}, {{.State}}{{end}}
                FROM {{.Before.Table}}
                WHERE window_start >= arrayMin(_tail.{{.Place}}) AND {{.Start}} IN (_tail.{{.Place}})
            ) AS _v
            GROUP BY {{.Groups}}window_start
        ) AS _w
        GROUP BY {{.Groups}}_start
{{- end}}
