{{- /* What people and dashboards read: the rollup and the live tail, which has what the
rollup may lack. So it is exact as of the last flush. The tail comes first, because
ClickHouse reads the parts of a statement in this order: it must know up to which round
the rollup is done before it looks at the rollup's rows. The statement lists the
columns, so that ClickHouse need not analyse the query to create the view. */ -}}
CREATE OR REPLACE VIEW {{.View}}{{.OnCluster}}
({{.Columns}})
AS SELECT
    {{.Groups}}window_start,
    toUInt64(max(_t.hits)) AS hits,
{{- range .Measures}}
    {{.Shown (.Final (.Best (print "_t." .Column)))}} AS {{.Column}},
{{- end}}
    toUInt8(ifNull(window_start + {{.Seconds}} <= (SELECT max(complete_until) FROM {{.Rollups}} WHERE {{.Job}} AND rollup = {{.Seconds}}), 0)) AS complete
FROM
(
    {{if .First}}{{template "live.sql" .}}{{else}}{{template "longer.sql" .}}{{end}}
    UNION ALL
    SELECT {{.Groups}}window_start, hits{{range .Measures}}, {{.Viewed}}{{end}}
    FROM {{.Table}}
) AS _t
GROUP BY {{.Groups}}window_start
