{{- /* The states of ids, each with the place of its window: the windows are those that over.sql
puts together, and so as fresh. States of one place are not merged here. */ -}}
{{range $i, $s := .Sources}}{{if $i}}
            UNION ALL
            {{end}}SELECT {{$.By}}{{.Place $.Shortest.Start}} AS _place, {{.Ids}} AS _ids
            FROM {{$.State}}
            WHERE {{.Read}}
{{- range $.Levels}}
            UNION ALL
            SELECT {{$.By}}{{$s.Place "window_start"}}, {{$s.States}}
            FROM {{.Table}}
            PREWHERE {{$s.Used .}}
            WHERE {{$s.Kept .}}
{{- end}}
{{- end}}
