{{- /* What a rollup holds and what it is made from, by window and group: whole
is whether none of the latter may have expired, due whether the rollup ought to
hold it all. */ -}}
SELECT
    {{.Groups}}window_start,
    toUInt64(sum(_n.rolled)) AS rolled,
    toUInt64(sum(_n.held)) AS held,
    max(_n.touched) <= {{.Settled}} AND {{if .First}}max(_n.made) > {{.Horizon}}{{else}}window_start > {{.SourceKept}}{{end}} AS whole,
    max(_n.stamp) < {{.Done}} AND window_start > {{.Kept}} AS due
FROM
(
    SELECT {{.Groups}}window_start, toUInt64(max(hits)) AS rolled, toUInt64(0) AS held, max(_r.rolled_at) AS made, toDateTime(0, 'UTC') AS touched, toUInt64(0) AS stamp
    FROM {{.Table}} AS _r
    WHERE {{.Within}}
    GROUP BY {{.Groups}}window_start
    UNION ALL
    SELECT {{.Groups}}{{.Start}} AS _start, 0, {{if .First}}arraySum(mapValues(maxMap(_s.hits))){{else}}max(_s.hits){{end}}, toDateTime(0, 'UTC'), max(_s.{{.Touched}}), max(_s.{{.Stamp}})
    FROM {{.Source}} AS _s
    WHERE {{.Within}}
    GROUP BY {{.Groups}}window_start
) AS _n
GROUP BY {{.Groups}}window_start
