{{- /* What a rollup and the rows it is made from hold, by window and group. Where
the tables' order is that of the groups, their states are joined one group after
another; where it is not, what would take much memory goes to the disk. */ -}}
SELECT toInt64(toUnixTimestamp(window_start)), {{.GroupText}}, rolled, held, toUInt8(whole), toUInt8(due)
{{- if .Measures}}, odd.1, odd.2, odd.3, odd.4{{end}}
FROM
(
    {{template "compare.sql" .}}
)
ORDER BY window_start
SETTINGS optimize_aggregation_in_order = 1, max_bytes_before_external_group_by = {{.Spill}}
