{{- /* Windows of the rollup with rows of round .Since or later, and the first and the
latest of these rounds in each. */ -}}
SELECT toInt64(toUnixTimestamp({{.Start}})) AS start, min({{.Stamp}}), max({{.Stamp}})
FROM {{.Source}}
WHERE {{.Stamp}} >= {{.Since}}
GROUP BY start
ORDER BY start
