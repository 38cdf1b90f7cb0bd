SELECT toInt64(toUnixTimestamp(now())), toInt64(toUnixTimestamp(toStartOfDay(window_start))) AS day
FROM {{.State}}
GROUP BY day
ORDER BY day
