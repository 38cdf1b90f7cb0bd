{{- /* The spans of time in which a rollup, or the table it is made from, has windows. */ -}}
SELECT toInt64(intDiv(toUnixTimestamp(window_start), {{.Step}}) * {{.Step}}) AS span
FROM
(
    SELECT DISTINCT window_start FROM {{.Source}}
    UNION DISTINCT
    SELECT DISTINCT window_start FROM {{.Table}}{{if .First}} WHERE rolled_at > now() - INTERVAL 7 DAY{{end}}
)
GROUP BY span
ORDER BY span
