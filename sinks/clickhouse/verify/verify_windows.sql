{{- /* A rollup and the rows that it is made from, by window and group. If the tables
are ordered by group, ClickHouse merges the states of one group after another; if not,
it writes to the disk what would take much memory. */ -}}
SELECT toInt64(toUnixTimestamp(window_start)), {{.GroupText}}, _rolled, _held, toUInt8(_whole), toUInt8(_due), _ahead
{{- if .Measures}}, _odd.1, _odd.2, _odd.3, _odd.4{{end}}
FROM
(
    {{template "compare.sql" .}}
)
ORDER BY window_start
SETTINGS optimize_aggregation_in_order = 1, max_bytes_before_external_group_by = {{.Spill}}
