{{- /* Windows of the rollup that were written lately. */ -}}
SELECT DISTINCT toInt64(toUnixTimestamp({{.Start}})) AS start
FROM {{.Source}}
WHERE {{.Touched}} >= {{.Since}}
ORDER BY start
