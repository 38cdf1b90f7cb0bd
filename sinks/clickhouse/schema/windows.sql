{{- /* Windows of the rollup with rows of round .Since or later, and the latest round of
each. */ -}}
SELECT toInt64(toUnixTimestamp({{.Start}})) AS start, max({{.Stamp}})
FROM {{.Source}}
WHERE {{.Stamp}} >= {{.Since}}
GROUP BY start
ORDER BY start
