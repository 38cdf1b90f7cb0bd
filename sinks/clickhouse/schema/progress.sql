{{- /* The server's time; the job's watermark, which is that of its slowest
partition, leaving out those that were silent for a minute while others moved;
since when the rollup may lack rows; the watermark it was last given. */ -}}
SELECT
    toInt64(toUnixTimestamp(now())),
    (
        SELECT toInt64(toUnixTimestamp64Milli(min(reached)))
        FROM
        (
            SELECT max(watermark) AS reached, max(flushed_at) AS moved, max(moved) OVER () AS latest
            FROM {{.Ledger}}
            WHERE {{.Job}} AND flushed_at >= now() - 3600 AND watermark > 0
            GROUP BY partition
        )
        WHERE moved >= latest - 60
    ),
    toInt64(toUnixTimestamp(max(since))),
    toInt64(toUnixTimestamp64Milli(max(watermark)))
FROM {{.Rollups}}
WHERE {{.Job}} AND rollup = {{.Seconds}}
