{{- /* The windows of each rollup that are in its live tail: an array for each, shortest
rollup first. A row is of the first level that it is in the tail of. */ -}}
SELECT tuple({{range $i, $v := .Levels}}{{if $i}}, {{end}}groupUniqArrayIf({{.Start}}, _level <= {{$i}}){{end}}) FROM (
        SELECT window_start, 0 AS _level FROM {{.State}} WHERE flushed_in >= _at.1
{{- range .Shorter}} UNION ALL SELECT window_start, {{.Place}} FROM {{.Table}} WHERE rolled_in >= _at.{{.Next.Place}}{{end}})
