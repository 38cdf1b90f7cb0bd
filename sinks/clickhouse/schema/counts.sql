{{- /* Of how many rows the windows of a range are made. */ -}}
SELECT toInt64(toUnixTimestamp({{.Start}})) AS start, count()
FROM {{.Source}}
WHERE {{.Range}}
GROUP BY start
