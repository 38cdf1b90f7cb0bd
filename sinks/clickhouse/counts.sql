{{- /* How many rows each window of a range is made from. */ -}}
SELECT toInt64(toUnixTimestamp({{.Start}})) AS start, count()
FROM {{.Source}}
WHERE {{.Range}}
GROUP BY start
