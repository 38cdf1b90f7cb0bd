{{- /* The events of each window and group by state rows and by rollups: weir_audit compares them with each other.
The GROUP BY stands at once above the reads: ClickHouse repeats other expressions in each of them. */ -}}
CREATE OR REPLACE VIEW {{.RowsView}}{{.OnCluster}}
(`_source` UInt16, `_group` Array(String), `window_start` DateTime('UTC'), `_hits` UInt64, `_at` DateTime('UTC'), `_in` UInt64)
AS SELECT toUInt16(_s._source) AS _source, CAST([{{.Group}}], 'Array(String)') AS _group, window_start, arraySum(mapValues(maxMap(_s._hits))) AS _hits, CAST(max(_s._at), 'DateTime(\'UTC\')') AS _at, toUInt64(max(_s._in)) AS _in
FROM
(
    {{.States}}
) AS _s
GROUP BY _s._source, {{.Keys}}window_start
UNION ALL
SELECT _r._source, CAST([{{.Group}}], 'Array(String)'), window_start, max(_r._hits), max(_r._at), max(_r._in)
FROM
(
    {{.Rolled}}
) AS _r
GROUP BY _r._source, {{.Keys}}window_start
