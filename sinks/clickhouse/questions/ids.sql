{{- /* The states of ids, each with the place of its window: the windows are those that over.sql
puts together, and so as fresh. States of one place are not merged here. */ -}}
{{range $i, $s := .Sources}}{{if $i}}
            UNION ALL
            {{end}}SELECT {{$.By}}{{.Place "_start"}} AS _place, {{.Kept "_level" "_gone" "_r._ids"}} AS _ids
            FROM
            (
                SELECT {{$.Groups}}{{$.Shortest.Start}} AS _start, 1 AS _level, {{$.Part $.Shortest}} AS _part, {{.Ids}} AS _ids{{if .Forgets}}, 0 AS _gone{{end}}
                FROM {{$.State}}
{{- range $.Longer}}
                UNION ALL
                SELECT {{$.Groups}}window_start, {{.Place}}, {{$.Part .}}, {{$s.States}}{{if $s.Forgets}}, {{.Level.Lost "rolled_at"}}{{end}}
                FROM {{.Table}}
{{- end}}
            ) AS _r
            WHERE {{.Used "_start" "_level" "_part"}}
{{- end}}
