{{- /* The ledger, in the order in which package audit takes lines. */ -}}
SELECT
    epoch, partition, chunk, first, max(next), hex(max(topic_id)),
    toUInt8(min(began) > {{.Horizon}}), toUInt8(max(flushed_at) > {{.Settled}}),
    if(min(began) > {{.Horizon}}, {{.Ahead "max(flushed_at)"}}, 0),
    {{.Outcomes}}
FROM {{.Ledger}} AS _l
WHERE {{.Job}}
GROUP BY epoch, partition, chunk, first
ORDER BY epoch, partition, chunk, first
