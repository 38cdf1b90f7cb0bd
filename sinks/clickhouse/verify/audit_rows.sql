{{- /* The events of each window and group by state rows and by rollups: weir_audit compares them with each other.
The GROUP BY stands at once above the reads: ClickHouse repeats other expressions in each of them. */ -}}
CREATE OR REPLACE VIEW {{.Name "weir_audit_rows"}}{{.OnCluster}}
(`_source` UInt16, `_group` Array(String), `window_start` DateTime('UTC'), `_hits` UInt64, `_at` DateTime('UTC'), `_in` UInt64)
AS SELECT toUInt16(_s._source) AS _source, CAST([{{range $i, $key := (index .Tables 0).Keys}}{{if $i}}, {{end}}_g{{$i}}{{end}}], 'Array(String)') AS _group, window_start, arraySum(mapValues(maxMap(_s._hits))) AS _hits, CAST(max(_s._at), 'DateTime(\'UTC\')') AS _at, toUInt64(max(_s._in)) AS _in
FROM
({{- $union := ""}}
{{- range .Tables}}{{if not .Seconds}}
    {{$union}}{{template "audit_read.sql" .}}{{$union = "UNION ALL "}}
{{- end}}{{end}}
) AS _s
GROUP BY _s._source, {{range $i, $key := (index .Tables 0).Keys}}_g{{$i}}, {{end}}window_start
UNION ALL
SELECT _r._source, CAST([{{range $i, $key := (index .Tables 0).Keys}}{{if $i}}, {{end}}_g{{$i}}{{end}}], 'Array(String)'), window_start, max(_r._hits), max(_r._at), max(_r._in)
FROM
({{- $union := ""}}
{{- range .Tables}}{{if .Seconds}}
    {{$union}}{{template "audit_read.sql" .}}{{$union = "UNION ALL "}}
{{- end}}{{end}}
) AS _r
GROUP BY _r._source, {{range $i, $key := (index .Tables 0).Keys}}_g{{$i}}, {{end}}window_start
