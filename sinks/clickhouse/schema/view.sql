{{- /* What people and dashboards read: the rollup and the live tail, which has what the
rollup may lack. So it is exact as of the last flush. The tail comes first, because
ClickHouse reads the parts of a statement in this order: it must know up to which round
the rollup is done before it looks at the rollup's rows. It evaluates _at and _tail once
for each query, where they are first used: in the tail. The statement lists the columns,
so that ClickHouse need not analyse the query to create the view.

_at has up to which round each rollup is done, shortest first, and the time up to which
the windows are complete. _tail has the windows that are in the live tail of each rollup:
they have rows that it may lack, or that a shorter rollup may lack. */ -}}
CREATE OR REPLACE VIEW {{.View}}{{.OnCluster}}
({{.Columns}})
AS WITH
    (SELECT tuple({{range .Levels}}maxIf(done, rollup = {{.Seconds}}), {{end}}maxIf(complete_until, rollup = {{.Seconds}})) FROM {{.Rollups}} WHERE {{.Job}}) AS _at,
    ({{template "stale.sql" .}}) AS _tail
SELECT
    {{.Groups}}window_start,
    toUInt64(max(_t.hits)) AS hits,
{{- range .Measures}}
    {{.Shown (.Final (.Best (print "_t." .Column)))}},
{{- end}}
    toUInt8(ifNull(window_start + {{.Seconds}} <= _at.{{.CompleteAt}}, 0)) AS complete
FROM
(
    {{if .First}}{{template "live.sql" .}}{{else}}{{template "longer.sql" .}}{{end}}
    UNION ALL
    SELECT {{.Groups}}window_start, hits{{range .Measures}}, {{.Viewed}}{{end}}
    FROM {{.Table}}
) AS _t
GROUP BY {{.Groups}}window_start
