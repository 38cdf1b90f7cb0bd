{{- /* The spans that have windows, of a rollup or of what it is made from. */ -}}
SELECT toInt64(intDiv(toUnixTimestamp(window_start), {{.Step}}) * {{.Step}}) AS span
FROM
(
    SELECT DISTINCT window_start FROM {{.Source}}
    UNION DISTINCT
    SELECT DISTINCT window_start FROM {{.Table}}{{if .First}} WHERE rolled_at > now() - INTERVAL 7 DAY{{end}}
)
GROUP BY span
ORDER BY span
