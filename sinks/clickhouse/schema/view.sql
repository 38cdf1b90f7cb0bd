{{- /* What people and dashboards read: the rollup and the live tail, which has what the rollup may
lack. So it is exact as of the last flush. The tail comes first, because
ClickHouse reads the parts of a statement in this order: it must know up to which round
the rollup is done before it looks at the rollup's rows. It evaluates _at and _tail once
for each query, where they are first used: in the tail.

_at has up to which round each rollup is done, shortest first, and the time up to which
the windows are complete. _tail has the windows that are in the live tail of each rollup:
they have rows that it may lack, or that a shorter rollup may lack. Rows of the other windows
need no more than what merges of parts do, so they are read with FINAL, which takes a third
of the time of a GROUP BY.

Of a longer rollup, hits and totals in the tail are sums of windows. Numbers come from merged states:
of the state rows that the second rollup may lack, of the rows of shorter rollups that the next longer one may
lack, and of the rollup's own rows. */ -}}
WITH
    (SELECT tuple({{range .Levels}}maxIf(done, rollup = {{.Seconds}}), {{end}}maxIf(complete_until, rollup = {{.Seconds}})) FROM {{.Rollups}} WHERE {{.Job}}) AS _at,
    ({{template "stale.sql" .}}) AS _tail
SELECT
    {{.Groups}}window_start,
    toUInt64(_f.hits) AS hits,
{{- range .Measures}}
    {{.SelectList (.Final (print "_f." .Column))}},
{{- end}}
    toUInt8(ifNull(window_start + {{.Seconds}} <= _at.{{.CompleteAt}}, 0)) AS complete
FROM
(
    SELECT {{.Groups}}window_start, max(_t.hits) AS hits{{range .Measures}}, {{.Best (print "_t." .Column)}} AS {{.Column}}{{end}}
    FROM
    (
{{- if .First}}
        SELECT {{.Groups}}window_start, hits{{range .Measures}}, {{.Live (print "_w." .Column)}} AS {{.Column}}{{end}}
    FROM
    (
        {{template "tail.sql" .}}
    ) AS _w
{{- else}}
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
        WHERE {{.Shortest.Start}} IN (_tail.{{.Fresh}})
{{- range .Between}}
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
{{- end}}
        UNION ALL
        SELECT {{.Groups}}window_start, hits{{range .Measures}}, {{.Viewed}}{{end}}
        FROM {{.Table}}
        WHERE window_start IN (_tail.{{.Place}})
    ) AS _t
    GROUP BY {{.Groups}}window_start
    UNION ALL
    SELECT {{.Groups}}window_start, hits{{range .Measures}}, {{.Viewed}}{{end}}
    FROM {{.Table}} FINAL
    WHERE window_start NOT IN (_tail.{{.Place}})
) AS _f
