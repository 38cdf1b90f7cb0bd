{{- /* What rollup and rows of one day hold, by window and group. */ -}}
SELECT toInt64(toUnixTimestamp(window_start)), {{.GroupText}}, toUInt64(sum(_n.rolled)), toUInt64(sum(_n.held))
FROM
(
    SELECT {{.Groups}}window_start, max(hits) AS rolled, 0 AS held, max(_r.rolled_at) AS rolled_at, toDateTime(0, 'UTC') AS touched
    FROM {{.Table}} AS _r
    WHERE {{.Day}}
    GROUP BY {{.Groups}}window_start
    UNION ALL
    SELECT {{.Groups}}{{.Start}} AS _start, 0, arraySum(mapValues(maxMap(hits))), toDateTime(0, 'UTC'), max(flushed_at)
    FROM {{.State}}
    WHERE {{.Day}}
    GROUP BY {{.Groups}}window_start
) AS _n
GROUP BY {{.Groups}}window_start
HAVING max(_n.touched) <= {{.Settled}} AND max(_n.rolled_at) > {{.Horizon}}
ORDER BY window_start
