{{- /* The live tail of the first rollup. */ -}}
SELECT {{.Groups}}window_start, hits{{range .Measures}}, {{.Live (print "_w." .Column)}} AS {{.Column}}{{end}}
    FROM
    (
        {{template "tail.sql" .}}
    ) AS _w
