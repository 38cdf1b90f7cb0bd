{{- /* The counts in the rows of one day, by slot. */ -}}
SELECT slot, sum(n), toUInt8(max(touched) <= {{.Settled}}), {{.Ahead "max(touched)"}}
FROM
(
    SELECT maxMap(hits) AS merged, max(flushed_at) AS touched
    FROM {{.State}}
    WHERE {{.Day}}
    GROUP BY {{.Groups}}window_start
)
ARRAY JOIN mapKeys(merged) AS slot, mapValues(merged) AS n
GROUP BY slot
ORDER BY slot
