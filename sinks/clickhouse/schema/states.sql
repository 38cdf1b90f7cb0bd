{{- /* The states of measures, by window and group: of the first level those of the state rows, of a longer
one those of its rollup. There may be several rows of a window, to be merged. */ -}}
SELECT {{.Groups}}{{if .First}}{{.Start}} AS window_start{{range .Finished}}, {{.Column}} AS `{{.Name}}_state`{{end}}{{else}}window_start{{range .Finished}}, `{{.Name}}_state`{{end}}{{end}}
FROM {{if .First}}{{.State}}{{else}}{{.Table}}{{end}}
