{{- /* What the rows of one day hold, by slot. */ -}}
SELECT slot, sum(n), toUInt8(max(touched) <= {{.Settled}})
FROM
(
    SELECT maxMap(hits) AS joined, max(flushed_at) AS touched
    FROM {{.State}}
    WHERE {{.Day}}
    GROUP BY {{.Groups}}window_start
)
ARRAY JOIN mapKeys(joined) AS slot, mapValues(joined) AS n
GROUP BY slot
ORDER BY slot
