{{- /* What a rollup and the rows it is made from hold, by window and group. */ -}}
SELECT toInt64(toUnixTimestamp(window_start)), {{.GroupText}}, rolled, held, toUInt8(whole), toUInt8(due)
FROM
(
    {{template "compare.sql" .}}
)
ORDER BY window_start
