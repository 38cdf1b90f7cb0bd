SELECT toInt64(toUnixTimestamp(now())), toInt64(toUnixTimestamp(toStartOfDay(window_start))) AS day
FROM
(
    SELECT DISTINCT window_start FROM {{.State}}
    UNION DISTINCT
    SELECT DISTINCT window_start FROM {{.Table}} WHERE rolled_at > now() - INTERVAL 7 DAY
)
GROUP BY day
ORDER BY day
