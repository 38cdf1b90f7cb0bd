{{- /* The ledger, in the order in which package audit takes lines. */ -}}
SELECT
    epoch, partition, chunk, first, max(next), hex(max(topic_id)),
    toInt64(toUnixTimestamp64Milli(max(watermark))), toInt64(toUnixTimestamp(min(began))) * 1000, toInt64(toUnixTimestamp(max(flushed_at))) * 1000,
    toUInt8(min(began) > {{.Horizon}}), toUInt8(max(flushed_at) > {{.Settled}}),
    if(min(began) > {{.Horizon}}, {{.Ahead "max(flushed_at)"}}, 0),
    {{.Outcomes}}
FROM {{.Ledger}} AS _l
WHERE {{.Job}}
GROUP BY epoch, partition, chunk, first
ORDER BY epoch, partition, chunk, first
