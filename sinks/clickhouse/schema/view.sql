{{- /* What people and dashboards read. The view of the first rollup adds the live tail:
the state rows of windows that were written since the rollup last ran. So it is exact
as of the last flush. The others read their rollup only. The statement lists the
columns, so that ClickHouse need not analyse the query to create the view. */ -}}
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
