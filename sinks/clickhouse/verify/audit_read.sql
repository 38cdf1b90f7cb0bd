{{- /* A read of a table. Only the first one of a union names the columns: each name takes a part of the time to
analyse that the whole read takes. */ -}}
SELECT {{.Place}}{{if .First}} AS _source{{end}}, window_start, hits{{if .First}} AS _hits{{end}}, {{.Written}}_at{{if .First}} AS _at{{end}}, {{.Written}}_in{{if .First}} AS _in{{end}}
    {{- range $i, $key := .Keys}}, {{.}}{{if $.First}} AS _g{{$i}}{{end}}{{end}} FROM {{.From}}
    {{- if and .Ago (lt .Ago 1000000000)}} WHERE window_start >= now() - {{.Ago}}{{end}}
