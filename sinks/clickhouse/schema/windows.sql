{{- /* Windows of the rollup with rows of late rounds, and the latest round. */ -}}
SELECT toInt64(toUnixTimestamp({{.Start}})) AS start, max({{.Stamp}})
FROM {{.Source}}
WHERE {{.Stamp}} >= {{.Since}}
GROUP BY start
ORDER BY start
