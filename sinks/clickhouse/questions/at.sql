{{- /* Of a view with parameters: _at and _tail, as in view.sql, and the checks of the parameters. */ -}}
(SELECT tuple({{range .Levels}}maxIf(done, rollup = {{.Seconds}}), {{end}}maxIf(complete_until, rollup = {{.Shortest.Seconds}})
{{- range .Checks}}, throwIf({{.If}}, {{.Message}}){{end}}) FROM {{.Rollups}} WHERE {{.Job}}) AS _at,
    ({{template "stale.sql" .}}) AS _tail
