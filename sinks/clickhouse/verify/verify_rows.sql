{{- /* The counts in the rows of one day, by slot. */ -}}
SELECT slot, sum(n), toUInt8(max(_touched) <= {{.Settled}}), {{.Ahead "max(_touched)"}}
FROM
(
    SELECT maxMap(hits) AS _merged, max(flushed_at) AS _touched
    FROM {{.State}}
    WHERE {{.Day}}
    GROUP BY {{.Groups}}window_start
)
ARRAY JOIN mapKeys(_merged) AS slot, mapValues(_merged) AS n
GROUP BY slot
ORDER BY slot
