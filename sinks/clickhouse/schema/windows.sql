{{- /* Windows of the rollup that were written lately, and of how many rows
they are made. */ -}}
SELECT toInt64(toUnixTimestamp({{.Start}})) AS start, count() AS rows
FROM {{.Source}}
WHERE {{.Start}} IN (SELECT {{.Start}} FROM {{.Source}} WHERE {{.Touched}} >= {{.Since}})
GROUP BY start
ORDER BY start
