{{- /* Windows of the next shorter rollup that windows of the list are made of, and whose rows are
gone or go soon, although there are rows to make them again from: state rows, or those of a still
shorter rollup. Rows of a window expire together, because each making writes all of them. */ -}}
SELECT DISTINCT toInt64(toUnixTimestamp({{.Before.Start}})) AS start
FROM
(
    SELECT window_start FROM {{.State}} WHERE {{.Range}}
{{- range .Before.Shorter}}
    UNION ALL
    SELECT window_start FROM {{.Table}} WHERE {{$.Range}}
{{- end}}
)
WHERE toUnixTimestamp({{.Start}}) IN ({{.List}}) AND start NOT IN
(
    SELECT toInt64(toUnixTimestamp(window_start))
    FROM {{.Source}}
    WHERE {{.Range}}{{with .Fresh}} AND rolled_at > {{.}}{{end}}
)
