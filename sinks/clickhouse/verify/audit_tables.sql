{{- /* What is known of each table: literals, which take no analysis. */ -}}
{{range $i, $t := .Tables}}{{if $i}}, {{end}}({{text .Name}}, {{.Version}}, {{text .Table}}, {{.Seconds}}, {{.Last}}, {{.Horizon}}, {{.Age}}, {{.Whole}}, {{text .Below}}, {{.Width}}, {{.Chunk}}){{end}}
