{{- /* Hits and merged states of windows of the first rollup, from the state rows: of those that it may
lack rows of, unless others are chosen. ClickHouse pushes predicates on groups and window_start down to the
state table. */ -}}
{{- if .Same -}}
SELECT
            {{.Groups}}window_start,
            {{.Hits}} AS hits
{{- range .Measures}},
            {{.Folded (print "_s." .Stored)}} AS {{.Column}}
{{- end}}
        FROM {{.State}} AS _s
        WHERE {{.Chosen}}
        GROUP BY {{.Groups}}window_start
{{- else -}}
SELECT
            {{.Groups}}_start AS window_start,
            sum(_v.hits) AS hits
{{- range .Measures}},
            {{.Plus (print "_v." .Column)}} AS {{.Column}}
{{- end}}
        FROM
        (
            SELECT
                {{.Groups}}{{.Start}} AS _start,
                {{.Hits}} AS hits
{{- range .Measures}},
                {{.Folded (print "_s." .Stored)}} AS {{.Column}}
{{- end}}
            FROM {{.State}} AS _s
            WHERE {{.Chosen}}
            GROUP BY {{.Groups}}window_start
        ) AS _v
        GROUP BY {{.Groups}}_start
{{- end}}
