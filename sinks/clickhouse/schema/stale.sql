{{- /* The windows of each rollup that are in its live tail: an array for each, shortest
rollup first. A row is of the first level that it is in the tail of. Behind these are the windows of the
first level whose state rows the second one may lack. The arrays have their time
zone, because ClickHouse sends them to other shards as texts: in the server's zone, windows of an
hour that comes twice would have the same texts. */ -}}
SELECT tuple({{range $i, $v := .Levels}}{{if $i}}, {{end}}CAST(groupUniqArrayIf({{.Start}}, _level <= {{$i}}), 'Array(DateTime(\'UTC\'))'){{end}}{{if not .First}}, CAST(groupUniqArrayIf({{.Shortest.Start}}, _level <= 1), 'Array(DateTime(\'UTC\'))'){{end}}) FROM (
        SELECT window_start, 0 AS _level FROM {{.State}} WHERE flushed_in >= _at.1
{{- range .Shorter}} UNION ALL SELECT window_start, {{.Place}} FROM {{.Table}} WHERE rolled_in >= _at.{{.Next.Place}}{{end}})
