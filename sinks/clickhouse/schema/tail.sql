{{- /* Hits and merged states of the windows of the first rollup that it may lack rows of,
from the state rows. ClickHouse pushes predicates on groups and window_start down to the
state table. */ -}}
{{- if .Same -}}
SELECT
            {{.Groups}}window_start,
            {{.Hits}} AS hits
{{- range .Measures}},
            {{.Fold (.Merge (print "_s." .Stored))}} AS {{.Column}}
{{- end}}
        FROM {{.State}} AS _s
        WHERE window_start IN (_tail.1)
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
                {{.Fold (.Merge (print "_s." .Stored))}} AS {{.Column}}
{{- end}}
            FROM {{.State}} AS _s
            WHERE {{.Start}} IN (_tail.1)
            GROUP BY {{.Groups}}window_start
        ) AS _v
        GROUP BY {{.Groups}}_start
{{- end}}
