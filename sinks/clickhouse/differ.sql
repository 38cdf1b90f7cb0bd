{{- /* The windows of the list whose numbers are not all those that whole rows gave, and how many rows each is
made from. In a group the numbers are right if such a row had as many events as the state rows, and
these measures. No states are read. What a rollup made is no proof: a server that was started again may hold the
counts of a chunk without some of its states, until the chunk is read again. */ -}}
SELECT start, sum(rows)
FROM
(
    SELECT {{.Groups}}toInt64(toUnixTimestamp(window_start)) AS start, sum(_n.rows) AS rows, max(_n.held) AS held, max(_n.flushed) AS given
    FROM
    (
        SELECT {{.Groups}}window_start, count() AS rows, {{.Hits}} AS held, tuple(toUInt64(0), toUInt64(0)) AS flushed
        FROM {{.Source}} AS _s
        WHERE {{.Within}}
        GROUP BY {{.Groups}}window_start
        UNION ALL
        SELECT {{.Groups}}window_start, 0, 0, flushed
        FROM {{.Table}}
        WHERE {{.Within}}
    ) AS _n
    GROUP BY {{.Groups}}window_start
    HAVING held > 0
)
GROUP BY start
HAVING max(given != (held, {{.Layout.Measured}}))
