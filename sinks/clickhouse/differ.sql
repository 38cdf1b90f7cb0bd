{{- /* The windows of the list whose numbers are not all those that whole rows gave, and how many rows each is
made from. In a group the numbers are right if such a row had as many events as the state rows, and
these measures. No states are read. What a rollup made is no proof: a server that was started again may hold the
counts of a chunk without some of its states, until the chunk is read again. */ -}}
SELECT _start, sum(_rows)
FROM
(
    SELECT {{.Groups}}toInt64(toUnixTimestamp(window_start)) AS _start, sum(_n._rows) AS _rows, max(_n._held) AS _held, max(_n.flushed) AS _given
    FROM
    (
        SELECT {{.Groups}}window_start, count() AS _rows, {{.Hits}} AS _held, tuple(toUInt64(0), toUInt64(0)) AS flushed
        FROM {{.Source}} AS _s
        WHERE {{.Within}}
        GROUP BY {{.Groups}}window_start
        UNION ALL
        SELECT {{.Groups}}window_start, 0, 0, flushed
        FROM {{.Table}}
        WHERE {{.Within}}
    ) AS _n
    GROUP BY {{.Groups}}window_start
    HAVING max(_n._held) > 0
)
GROUP BY _start
HAVING max(_given != (_held, {{.Layout.Measured}}))
