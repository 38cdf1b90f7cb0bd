{{- /* The counts of all state rows by slot, merged: weir_audit compares them with the ledger. */ -}}
CREATE OR REPLACE VIEW {{.Name "weir_audit_states"}}{{.OnCluster}}
(`_source` UInt16, `_counts` Map(UInt64, UInt64), `_at` DateTime('UTC'))
AS SELECT toUInt16(_s._source) AS _source, maxMap(_s._hits) AS _counts, CAST(max(_s._at), 'DateTime(\'UTC\')') AS _at
FROM
({{- $union := ""}}
{{- range .Tables}}{{if not .Seconds}}
    {{$union}}{{template "audit_read.sql" .}}{{$union = "UNION ALL "}}
{{- end}}{{end}}
) AS _s
GROUP BY _s._source, {{range $i, $key := (index .Tables 0).Keys}}_g{{$i}}, {{end}}window_start
