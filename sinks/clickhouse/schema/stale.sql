{{- /* The windows of a longer rollup that are in its live tail. */ -}}
SELECT {{.Start}} AS _start FROM {{.State}} WHERE flushed_in >= {{.Shortest.Done}}
{{- range .Shorter}} UNION ALL SELECT {{$.Start}} FROM {{.Table}} WHERE rolled_in >= {{.Next.Done}}{{end}}
