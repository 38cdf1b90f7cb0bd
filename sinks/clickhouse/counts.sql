{{- /* How many rows each window of a range is made from. */ -}}
SELECT toInt64(toUnixTimestamp({{.Start}})) AS start, count()
FROM {{if .Second}}(SELECT window_start FROM {{.Source}} WHERE {{.Range}} UNION ALL SELECT window_start FROM {{.State}} WHERE {{.Range}}){{else}}{{.Source}} WHERE {{.Range}}{{end}}
GROUP BY start
