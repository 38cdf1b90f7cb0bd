{{- /* The live tail: the numbers of windows with rows that the rollup may lack, from the
state rows. ClickHouse evaluates the scalar subquery and the set of windows once for
each query, and pushes predicates on groups and window_start down to the state table. */ -}}
{{- if .Same -}}
SELECT {{.Groups}}window_start, hits{{range .Measures}}, {{.Number (print "_w." .Column)}} AS {{.Column}}{{end}}
    FROM
    (
        SELECT
            {{.Groups}}window_start,
            arraySum(mapValues(maxMap(_s.hits))) AS hits
{{- range .Measures}},
            {{.Merge (print "_s." .Column)}} AS {{.Column}}
{{- end}}
        FROM {{.State}} AS _s
        WHERE window_start IN ({{template "touched.sql" .}})
        GROUP BY {{.Groups}}window_start
    ) AS _w
{{- else -}}
SELECT
        {{.Groups}}_start AS window_start,
        sum(_w.hits) AS hits
{{- range .Measures}},
        {{.Number (.Merge (print "_w." .Column))}} AS {{.Column}}
{{- end}}
    FROM
    (
        SELECT
            {{.Groups}}{{.Start}} AS _start,
            arraySum(mapValues(maxMap(_s.hits))) AS hits
{{- range .Measures}},
            {{.Merge (print "_s." .Column)}} AS {{.Column}}
{{- end}}
        FROM {{.State}} AS _s
        WHERE {{.Start}} IN ({{template "touched.sql" .}})
        GROUP BY {{.Groups}}window_start
    ) AS _w
    GROUP BY {{.Groups}}_start
{{- end}}
