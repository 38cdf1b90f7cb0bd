{{- /* The live tail of a longer rollup. Hits and totals are sums of windows. Numbers come
from merged states: of state rows, of the rows of shorter rollups that the next longer one
may lack, and of the rollup's own rows. */ -}}
SELECT {{.Groups}}window_start, hits{{range .Measures}}, {{if .Additive}}{{.Column}}{{else}}{{.Nothing}} AS {{.Column}}{{end}}{{end}}
    FROM
    (
        {{template "totals.sql" .}}
    ) AS _h
{{- if .Finished}}
    UNION ALL
    SELECT {{.Groups}}_start, 0{{range .Measures}}, {{if .Additive}}{{.Empty}}{{else}}{{.Number (.Merge (print "_w." .Column))}}{{end}}{{end}}
    FROM
    (
        SELECT {{.Groups}}{{.Start}} AS _start{{range .Finished}}, {{.Stored}} AS {{.Column}}{{end}}
        FROM {{.State}}
        WHERE {{.Shortest.Start}} IN (_tail.1)
{{- range .Shorter}}
        UNION ALL
        SELECT {{.Groups}}{{$.Start}}{{range .Finished}}, {{.State}}{{end}}
        FROM {{.Table}}
        WHERE rolled_in >= _at.{{.Next.Place}}
{{- end}}
        UNION ALL
        SELECT {{.Groups}}window_start{{range .Finished}}, {{.State}}{{end}}
        FROM {{.Table}}
        WHERE window_start IN (_tail.{{.Place}})
    ) AS _w
    GROUP BY {{.Groups}}_start
{{- end}}
