{{- /* What people and dashboards read. The first rollup is joined with the
live tail: the state rows of windows written since the rollup last ran, so
that the view is exact as of the last flush. Longer ones read their rollup.
With its columns given, ClickHouse makes a view without analysing it. */ -}}
CREATE OR REPLACE VIEW {{.View}}{{.OnCluster}}
({{.Columns}})
AS SELECT
    {{.Groups}}window_start,
    toUInt64(max(_t.hits)) AS hits,
{{- range .Measures}}
    {{.Shown (.Best (print "_t." .Column))}} AS {{.Column}},
{{- end}}
    toUInt8(ifNull(window_start + {{.Seconds}} <= (SELECT max(complete_until) FROM {{.Rollups}} WHERE {{.Job}} AND rollup = {{.Seconds}}), 0)) AS complete
FROM
(
    SELECT {{.Groups}}window_start, hits{{range .Measures}}, {{.Column}}{{end}}
    FROM {{.Table}}
{{- if .First}}
    UNION ALL
    {{template "live.sql" .}}
{{- end}}
) AS _t
GROUP BY {{.Groups}}window_start
